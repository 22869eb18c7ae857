import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { describeError } from "@fjord/base";
import { type EnsureOptions, ensureBinaries } from "./ensure.ts";
import { eventually, temporaryDirectory, writeFakeGo, writeProgram } from "./fake-programs.ts";
import type { BinariesEvent } from "./progress.ts";
import { sha256, startReleaseServer } from "./release-server.ts";
import { COREDNS, ETCD, KUBERNETES } from "./versions.ts";

const V136 = KUBERNETES["1.36"].version;
const PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
const NOWHERE = { kubernetes: "http://127.0.0.1:1", github: "http://127.0.0.1:1" };
const LINUX = { os: "linux", arch: "amd64" };

/** Options with a fake Go at hand, an empty cache, and no release site. */
function withGo(t: TestContext, options: Parameters<typeof writeFakeGo>[1] = {}) {
  const root = temporaryDirectory(t);
  const go = writeFakeGo(root, options);
  const cache = join(root, "cache");
  const env = { HOME: root, PATH: `${go.folder}:/usr/bin:/bin`, FJORD_CACHE: cache };
  // The machine's own kubectl, if any, tells another version and is passed over.
  const ensure: EnsureOptions = { env, sites: NOWHERE, platform: LINUX };
  return { root, go, cache, ensure, withoutGo: { ...ensure, env: { ...env, PATH: "/usr/bin:/bin" } } };
}

function builds(calls: readonly string[]): string[] {
  return calls.filter((call) => call.startsWith("build "));
}

test("what is missing is built with Go, one build per module, and then comes from the cache without Go", async (t) => {
  const { go, cache, ensure, withoutGo } = withGo(t);
  const binaries = await ensureBinaries({ ...ensure, sets: ["control-plane", "nodes", "kwok"] });
  assert.equal(builds(go.calls()).length, 4);
  assert.equal(binaries.path("kubelet"), join(cache, "bin", `kubernetes-${V136}`, "kubelet"));
  assert.match(execFileSync(binaries.path("etcd"), { encoding: "utf8" }), new RegExp(ETCD.version));
  assert.match(readFileSync(binaries.path("kwok-stages.yaml"), "utf8"), /node-fast\n---\n(.*\n)*.*pod-fast/);
  assert.deepEqual(readdirSync(join(cache, "tmp")), []);
  assert.ok(!readdirSync(join(cache, "bin")).some((name) => name.includes("lock")));

  const again = await ensureBinaries({ ...withoutGo, sets: ["control-plane", "nodes", "kwok"] });
  assert.deepEqual(new Set(again.all.map(({ source }) => source)), new Set(["cache"]));
});

test("a second minor, or a set asked for later, builds only what is new", async (t) => {
  const { go, ensure } = withGo(t);
  await ensureBinaries(ensure);
  await ensureBinaries({ ...ensure, minors: ["1.36", "1.35"], sets: ["control-plane", "nodes"] });
  const later = builds(go.calls()).slice(2);
  assert.equal(later.length, 3);
  assert.ok(later.some((call) => call.endsWith("k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes/cmd/kube-proxy")));
  assert.ok(later.some((call) => call.includes("cmd/kube-apiserver") && call.includes("gitMinor=35")));
});

test("the end-to-end suite is compiled as a program of its own, once for whatever minors are asked for", async (t) => {
  const { go, cache, ensure } = withGo(t);
  const binaries = await ensureBinaries({ ...ensure, minors: ["1.35", "1.36"], sets: ["conformance"] });
  assert.equal(binaries.path("e2e.test"), join(cache, "bin", `conformance-${V136}`, "e2e.test"));
  assert.match(execFileSync(binaries.path("e2e.test"), { encoding: "utf8" }), new RegExp(`tests ${V136}`));
  assert.match(execFileSync(binaries.path("agnhost"), { encoding: "utf8" }), new RegExp(V136));
  assert.equal(builds(go.calls()).length, 1);
});

test("a damaged cache file is built again", async (t) => {
  const { go, ensure } = withGo(t);
  const path = (await ensureBinaries(ensure)).path("kubectl");
  const { size } = statSync(path);
  truncateSync(path, 3);
  await ensureBinaries(ensure);
  assert.equal(statSync(path).size, size);
  assert.ok(builds(go.calls()).at(-1)?.endsWith("k8s.io/kubernetes/cmd/kubectl"));
});

test("where Go does not serve, releases are downloaded and verified", async (t) => {
  const { root, withoutGo, cache } = withGo(t);
  const etcd = `/etcd-io/etcd/releases/download/${ETCD.version}`;
  const coredns = `/coredns/coredns/releases/download/${COREDNS.version}/coredns_${COREDNS.version.slice(1)}_linux_amd64.tgz`;
  const etcdArchive = archive(root, `etcd-${ETCD.version}-linux-amd64/etcd`, ETCD.version);
  const corednsArchive = archive(root, "coredns", COREDNS.version);
  const files: Record<string, string | Buffer> = {
    [`${etcd}/etcd-${ETCD.version}-linux-amd64.tar.gz`]: etcdArchive,
    [`${etcd}/SHA256SUMS`]: `${"0".repeat(64)}  other.zip\n${sha256(etcdArchive)}  etcd-${ETCD.version}-linux-amd64.tar.gz\n`,
    [coredns]: corednsArchive,
    [`${coredns}.sha256`]: `${sha256(corednsArchive)}  coredns.tgz\n${sha256(corednsArchive)}\n`,
  };
  for (const name of [...PROGRAMS, "kubelet", "kube-proxy"]) {
    const body = `#!/bin/sh\necho Kubernetes ${V136}\n`;
    files[`/release/${V136}/bin/linux/amd64/${name}`] = body;
    files[`/release/${V136}/bin/linux/amd64/${name}.sha256`] = sha256(body);
  }
  const { sites, requests } = await startReleaseServer(t, files);
  const options: EnsureOptions = { ...withoutGo, sites, sets: ["control-plane", "nodes"] };
  const binaries = await ensureBinaries(options);
  assert.deepEqual(new Set(binaries.all.map(({ source }) => source)), new Set(["release site"]));
  assert.match(execFileSync(binaries.path("etcd"), { encoding: "utf8" }), new RegExp(ETCD.version));
  assert.equal(
    JSON.parse(readFileSync(join(cache, "bin", `etcd-${ETCD.version}`, "manifest.json"), "utf8")).files.etcd.origin,
    "download",
  );
  const before = requests.length;
  await ensureBinaries(options);
  assert.equal(requests.length, before);
});

test("a download whose checksum differs is refused and leaves nothing behind", async (t) => {
  const { withoutGo, cache } = withGo(t);
  const path = `/release/${V136}/bin/linux/amd64/kubelet`;
  const { sites } = await startReleaseServer(t, {
    [path]: `#!/bin/sh\necho Kubernetes ${V136}\n`,
    [`${path}.sha256`]: sha256("something else"),
  });
  await assert.rejects(ensureBinaries({ ...withoutGo, sites, sets: ["nodes"] }), {
    code: "TESTBED_BINARIES_UNAVAILABLE",
    message: /coredns/,
  });
  writeProgram(join(withoutGo.env.HOME ?? "", "named/coredns"), COREDNS.version);
  const env = { ...withoutGo.env, FJORD_BINARIES: join(withoutGo.env.HOME ?? "", "named") };
  await assert.rejects(ensureBinaries({ ...withoutGo, env, sites, sets: ["nodes"] }), {
    message: new RegExp(
      `release site: .*kubelet was refused: its SHA-256 is .*kubelet\\.sha256 says ${sha256("something else")}`,
    ),
  });
  assert.ok(!existsSync(join(cache, "bin", `kubernetes-${V136}`, "kubelet")));
});

test("when nothing works, the error tells for each place why, and what to do", async (t) => {
  const { withoutGo } = withGo(t);
  await assert.rejects(ensureBinaries({ ...withoutGo, sets: ["kwok"] }), (error: Error & { code?: string }) => {
    assert.equal(error.code, "TESTBED_BINARIES_UNAVAILABLE");
    assert.match(error.message, /^cannot get kwok, kwok-stages\.yaml \(kwok v0\.8\.0\); tried in this order:\n/);
    assert.match(
      error.message,
      /\n {2}- FJORD_BINARIES: not set\n {2}- PATH: not there\n {2}- cache: kwok: .*\n {2}- cache: kwok-stages/,
    );
    assert.match(error.message, /\n {2}- Go module registry: no `go` in PATH; Go 1\.26\.0 or newer is needed\n/);
    assert.match(error.message, /\n {2}- release site: .*no checksums/);
    assert.match(error.message, /Install Go .*FJORD_BINARIES\.$/);
    assert.equal(describeError(error), error.message);
    return true;
  });
});

test("a build's own words are in the error, without its chatter", async (t) => {
  const beforeBuild = "echo k8s.io/api; echo go: downloading x v1.0.0; echo 'x.go:1:1: undefined: y' >&2; exit 1";
  const { ensure } = withGo(t, { beforeBuild });
  const events: BinariesEvent[] = [];
  await assert.rejects(ensureBinaries({ ...ensure, progress: (event) => events.push(event) }), (error: Error) => {
    assert.match(error.message, /failed with exit code 1; its last lines:\n {4}x\.go:1:1: undefined: y\n/);
    assert.ok(!error.message.includes("downloading x"));
    return true;
  });
  assert.deepEqual(
    events.map(({ type }) => type),
    ["building", "failed", "failed"],
  );
});

test("a Go that is too old is told apart from one that is missing", async (t) => {
  const { ensure } = withGo(t, { goVersion: "go1.24.1" });
  await assert.rejects(ensureBinaries(ensure), /is Go 1\.24\.1, and 1\.26\.0 or newer is needed/);
});

test("a program that tells the wrong version is not put into the cache", async (t) => {
  const { ensure, cache } = withGo(t, { beforeBuild: "sed -i 's/^require \\(.*\\) v.*/require \\1 v0.0.0/' go.mod" });
  await assert.rejects(ensureBinaries(ensure), /the etcd v3\.6\.16 that was made is of no use: it says it is v0\.0\.0/);
  assert.deepEqual(readdirSync(join(cache, "bin", `etcd-${ETCD.version}`)), []);
});

test("two at once build once", async (t) => {
  const { go, ensure } = withGo(t, { beforeBuild: "sleep 0.2" });
  const [one, two] = await Promise.all([ensureBinaries(ensure), ensureBinaries(ensure)]);
  assert.deepEqual([...one.of()], [...two.of()]);
  assert.equal(builds(go.calls()).length, 2);
});

test("an abort during a build ends it, frees the lock and leaves nothing half done", async (t) => {
  const { ensure, cache, root } = withGo(t, { beforeBuild: "touch ../../started; sleep 600" });
  const controller = new AbortController();
  const run = ensureBinaries({ ...ensure, signal: controller.signal });
  await eventually(() => existsSync(join(cache, "started")));
  controller.abort(new Error("changed my mind"));
  await assert.rejects(run, /changed my mind/);
  assert.deepEqual(readdirSync(join(cache, "tmp")), []);
  assert.deepEqual(readdirSync(join(cache, "bin")), [`etcd-${ETCD.version}`]);
  writeFakeGo(root);
  await ensureBinaries(ensure);
});

test("the leavings of a run that was killed are cleared away", async (t) => {
  const { ensure, cache } = withGo(t);
  mkdirSync(join(cache, "tmp/999999999-dead"), { recursive: true });
  await ensureBinaries(ensure);
  assert.deepEqual(readdirSync(join(cache, "tmp")), []);
});

test("a cache that cannot be written to is told with the way out", async (t) => {
  const { ensure, root } = withGo(t);
  writeFileSync(join(root, "file"), "");
  const env = { ...ensure.env, FJORD_CACHE: join(root, "file/cache") };
  await assert.rejects(ensureBinaries({ ...ensure, env }), { code: "TESTBED_CACHE_UNUSABLE" });
});

function archive(root: string, member: string, version: string): Buffer {
  const folder = join(root, `archive-${version}`);
  writeProgram(join(folder, member), version);
  return execFileSync("tar", ["-czf", "-", "-C", folder, member]);
}
