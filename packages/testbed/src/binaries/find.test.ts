import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { addRecords, cacheDirectory, recordOf } from "./cache.ts";
import { temporaryDirectory, writeProgram, writeScript } from "./fake-programs.ts";
import { type FindOptions, findBinaries } from "./find.ts";
import { ETCD, KUBERNETES } from "./versions.ts";

const V136 = KUBERNETES["1.36"].version;
const V135 = KUBERNETES["1.35"].version;
const KUBERNETES_PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/** An environment with nothing in it, in directories of its own. */
function emptyEnvironment(t: TestContext) {
  const root = temporaryDirectory(t);
  return { root, env: { HOME: root, PATH: join(root, "path"), FJORD_CACHE: join(root, "cache") } };
}

function writeControlPlane(folder: string, version: string): void {
  for (const name of KUBERNETES_PROGRAMS) writeProgram(join(folder, name), version);
}

function fillCache(cache: string, folderName: string, names: readonly string[], version: string): string {
  const folder = join(cache, "bin", folderName);
  for (const name of names) {
    const path = writeProgram(join(folder, name), version);
    addRecords(folder, { [name]: recordOf(path, version, "go") });
  }
  return folder;
}

function sources(options: FindOptions): Record<string, string> {
  return Object.fromEntries(findBinaries(options).binaries.all.map(({ component, source }) => [component, source]));
}

test("with nothing anywhere, each place is named with its reason", (t) => {
  const { env, root } = emptyEnvironment(t);
  const { binaries, missing } = findBinaries({ env });
  assert.deepEqual(binaries.all, []);
  assert.deepEqual(missing.map(({ component }) => component.name).sort(), ["etcd", ...KUBERNETES_PROGRAMS].sort());
  assert.deepEqual(missing[0]?.attempts, [
    { source: "FJORD_BINARIES", component: "etcd", reason: "not set" },
    { source: "PATH", component: "etcd", reason: "not there" },
    { source: "cache", component: "etcd", reason: `${root}/cache/bin/etcd-${ETCD.version}/etcd: not there` },
  ]);
});

test("an entry of PATH that cannot be looked into does not hide the others", (t) => {
  const { env, root } = emptyEnvironment(t);
  writeProgram(join(env.PATH, "etcd"), ETCD.version);
  const closed = join(root, "closed");
  mkdirSync(closed);
  // Root may look into every directory, but not round in a circle.
  symlinkSync("etcd", join(closed, "etcd"));
  chmodSync(closed, 0);
  const found = sources({ env: { ...env, PATH: `${closed}:${env.PATH}` } });
  chmodSync(closed, 0o700);
  assert.equal(found.etcd, "PATH");
});

test("the named directory goes before PATH, and PATH before the cache", (t) => {
  const { env, root } = emptyEnvironment(t);
  const everything = ["etcd", ...KUBERNETES_PROGRAMS];
  fillCache(env.FJORD_CACHE, `kubernetes-${V136}`, KUBERNETES_PROGRAMS, V136);
  fillCache(env.FJORD_CACHE, `etcd-${ETCD.version}`, ["etcd"], ETCD.version);
  assert.deepEqual(new Set(Object.values(sources({ env }))), new Set(["cache"]));
  writeControlPlane(env.PATH, V136);
  writeProgram(join(env.PATH, "etcd"), ETCD.version);
  assert.deepEqual(new Set(Object.values(sources({ env }))), new Set(["PATH"]));
  writeProgram(join(root, "named/kubectl"), V136);
  const named = sources({ env: { ...env, FJORD_BINARIES: join(root, "named") } });
  assert.deepEqual(named, {
    ...Object.fromEntries(everything.map((name) => [name, "PATH"])),
    kubectl: "FJORD_BINARIES",
  });
});

test("a directory may hold several minors in folders named by version", (t) => {
  const { env, root } = emptyEnvironment(t);
  const named = join(root, "named");
  writeControlPlane(join(named, V135), V135);
  writeControlPlane(named, V136);
  writeProgram(join(named, "etcd"), ETCD.version);
  const { binaries, missing } = findBinaries({ env: { ...env, FJORD_BINARIES: named }, minors: ["1.36", "1.35"] });
  assert.deepEqual(missing, []);
  assert.equal(binaries.path("kubectl"), join(named, "kubectl"));
  assert.equal(binaries.path("kubectl", "1.35"), join(named, V135, "kubectl"));
  assert.equal(binaries.path("etcd", "1.35"), join(named, "etcd"));
  assert.throws(() => binaries.path("kubelet"), /no path of kubelet for Kubernetes 1\.36/);
});

test("a directory named on purpose may hold another patch release, but not another minor", (t) => {
  const { env, root } = emptyEnvironment(t);
  const named = { ...env, FJORD_BINARIES: join(root, "named") };
  writeControlPlane(named.FJORD_BINARIES, "v1.36.99");
  const kubectl = findBinaries({ env: named }).binaries.all.find(({ component }) => component === "kubectl");
  assert.deepEqual([kubectl?.source, kubectl?.version], ["FJORD_BINARIES", "v1.36.99"]);
  assert.throws(() => findBinaries({ env: named, minors: ["1.35"] }), {
    code: "TESTBED_BINARY_UNFIT",
    message: new RegExp(
      `named/kube-apiserver, from the directory .* cannot serve as kube-apiserver ${V135}: it is v1\\.36\\.99`,
    ),
  });
});

test("a named directory that does not exist is a mistake that is told", (t) => {
  const { env, root } = emptyEnvironment(t);
  assert.throws(() => findBinaries({ env: { ...env, FJORD_BINARIES: join(root, "mistyped") } }), {
    code: "TESTBED_BINARIES_DIRECTORY_MISSING",
  });
});

test("another version in PATH is passed over, down to the patch release", (t) => {
  const { env } = emptyEnvironment(t);
  writeProgram(join(env.PATH, "kubectl"), "v1.32.4");
  writeScript(join(env.PATH, "kube-scheduler"), "echo unknown");
  const reasons = Object.fromEntries(
    findBinaries({ env }).missing.map(({ component, attempts }) => [component.name, attempts[1]?.reason]),
  );
  assert.equal(reasons.kubectl, `${env.PATH}/kubectl is v1.32.4, not ${V136}`);
  assert.equal(reasons["kube-scheduler"], `${env.PATH}/kube-scheduler does not tell its version`);
});

test("a truncated, altered or vanished cache file is noticed", (t) => {
  const { env } = emptyEnvironment(t);
  const folder = fillCache(env.FJORD_CACHE, `kubernetes-${V136}`, KUBERNETES_PROGRAMS, V136);
  truncateSync(join(folder, "kubectl"), 5);
  appendFileSync(join(folder, "kube-scheduler"), "#");
  const apiserver = join(folder, "kube-apiserver");
  writeFileSync(apiserver, readFileSync(apiserver, "utf8").toUpperCase());
  utimesSync(apiserver, 1, 1);
  const reasons = findBinaries({ env }).missing.map(
    ({ component, attempts }) => `${component.name} ${attempts.at(-1)?.reason}`,
  );
  assert.match(reasons.join("\n"), /kubectl .*damaged \(5 bytes instead of \d+\)/);
  assert.match(reasons.join("\n"), /kube-scheduler .*damaged \(\d+ bytes instead of \d+\)/);
  assert.match(reasons.join("\n"), /kube-apiserver .*its SHA-256 has changed/);
  assert.ok(!reasons.join("\n").includes("kube-controller-manager"));
});

test("an alteration that keeps size and time is found by full scrutiny", (t) => {
  const { env } = emptyEnvironment(t);
  const folder = fillCache(env.FJORD_CACHE, `etcd-${ETCD.version}`, ["etcd"], ETCD.version);
  const path = join(folder, "etcd");
  const { mtimeMs } = recordOf(path, "", "go");
  writeFileSync(path, readFileSync(path, "utf8").toUpperCase());
  utimesSync(path, mtimeMs / 1000, mtimeMs / 1000);
  assert.equal(sources({ env }).etcd, "cache");
  assert.equal(sources({ env, scrutiny: "full" }).etcd, undefined);
});

test("a copied cache is as good as the original, although its times differ", (t) => {
  const { env, root } = emptyEnvironment(t);
  fillCache(env.FJORD_CACHE, `etcd-${ETCD.version}`, ["etcd"], ETCD.version);
  cpSync(env.FJORD_CACHE, join(root, "copy"), { recursive: true });
  const path = join(root, "copy/bin", `etcd-${ETCD.version}`, "etcd");
  utimesSync(path, 1, 1);
  assert.equal(sources({ env: { ...env, FJORD_CACHE: join(root, "copy") } }).etcd, "cache");
  assert.notEqual(recordOf(path, "", "go").mtimeMs, 1000, "the next look need not hash again");
});

test("a manifest cut off in the middle counts as none", (t) => {
  const { env } = emptyEnvironment(t);
  const folder = join(env.FJORD_CACHE, "bin", `etcd-${ETCD.version}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "manifest.json"), '{"format":1,"files":{"etc');
  assert.equal(sources({ env }).etcd, undefined);
});

test("the cache is where FJORD_CACHE, XDG_CACHE_HOME or the home directory say", () => {
  assert.equal(cacheDirectory({ FJORD_CACHE: "/a", XDG_CACHE_HOME: "/b", HOME: "/c" }), "/a");
  assert.equal(cacheDirectory({ XDG_CACHE_HOME: "/b", HOME: "/c" }), "/b/fjord");
  assert.equal(cacheDirectory({ HOME: "/c" }), "/c/.cache/fjord");
});
