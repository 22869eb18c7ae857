import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { isStaticProgram } from "./elf.ts";
import { temporaryDirectory, writeScript } from "./fake-programs.ts";
import { CNI_PLUGINS, ensureNodePackages, findNodePackages, type NodeHost } from "./node-packages.ts";
import type { BinariesEvent } from "./progress.ts";

/** A machine whose programs are those in a directory of the test's. */
function machine(t: TestContext, host: Partial<NodeHost> = {}) {
  const root = temporaryDirectory(t);
  const bin = join(root, "bin");
  mkdirSync(bin);
  const full: NodeHost = { platform: "linux", uid: 0, programFolders: [bin], cniFolders: [join(root, "cni")], ...host };
  return { root, bin, options: { env: { PATH: "", HOME: root, FJORD_CACHE: join(root, "cache") }, host: full } };
}

/** The smallest file that passes for a program: an ELF header and one program header of the given kind. */
function elf(kind: number): Buffer {
  const file = Buffer.alloc(120);
  file.write("7f454c460201", "hex");
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(kind, 64);
  return file;
}

const LOAD = 1;
const INTERPRETER = 3;

/** Shell that puts every tool in place. */
function installation(root: string): string {
  writeFileSync(join(root, "busybox"), elf(LOAD), { mode: 0o755 });
  const programs = [
    "containerd",
    "containerd-shim-runc-v2",
    "ctr",
    "runc",
    "nft",
    "iptables",
    "ip",
    "nsenter",
    "ipset",
    "mount",
  ];
  return `cd ${root}
/bin/mkdir -p cni
for name in ${programs.join(" ")}; do echo '#!/bin/sh' > bin/$name; /bin/chmod +x bin/$name; done
for name in ${CNI_PLUGINS.join(" ")}; do echo > cni/$name; done
/bin/cp busybox bin/busybox`;
}

test("a machine that lacks everything is told everything at once", (t) => {
  const { options } = machine(t, { uid: 1000 });
  const found = findNodePackages(options);
  assert.ok("reasons" in found);
  assert.ok(found.reasons.includes("real nodes need root"));
  assert.ok(found.reasons.includes("no containerd (Debian package containerd)"));
  assert.ok(found.packages.includes("containernetworking-plugins"));
});

test("other systems than Linux are refused at once", async (t) => {
  const { options } = machine(t, { platform: "darwin" });
  await assert.rejects(ensureNodePackages(options), {
    code: "TESTBED_NODE_PACKAGES_UNAVAILABLE",
    message: /real nodes need Linux, and this is darwin/,
  });
});

test("what is missing is installed, once, and then found", async (t) => {
  const { root, bin, options } = machine(t);
  const log = join(root, "apt.log");
  writeScript(
    join(bin, "apt-get"),
    `echo "$DEBIAN_FRONTEND $*" >> ${log}
case "$*" in *--download-only*) exit 0 ;; *install*) echo "Setting up runc" ;; *) exit 0 ;; esac
${installation(root)}`,
  );
  const events: BinariesEvent[] = [];
  const tools = await ensureNodePackages({ ...options, progress: (event) => events.push(event) });
  assert.equal(tools.programs.runc, join(bin, "runc"));
  assert.equal(tools.cni, join(root, "cni"));
  const calls = readFileSync(log, "utf8").trim().split("\n");
  assert.equal(calls.length, 3);
  assert.match(`${calls[0]}`, /^noninteractive .*update$/);
  assert.match(
    `${calls[2]}`,
    /install -y --no-install-recommends containerd runc busybox-static .*containernetworking-plugins$/,
  );
  assert.deepEqual(events.at(-1), { type: "output", line: "Setting up runc" });
  await ensureNodePackages(options);
  assert.equal(readFileSync(log, "utf8").trim().split("\n").length, 3);
});

test("a refusal of apt-get is passed on in its own words", async (t) => {
  const { bin, options } = machine(t);
  writeScript(
    join(bin, "apt-get"),
    'case "$*" in *update) exit 0 ;; esac; echo "E: Unable to locate package runc" >&2; exit 100',
  );
  await assert.rejects(
    ensureNodePackages(options),
    /exit code 100; its last lines:\n {4}E: Unable to locate package runc/,
  );
});

test("without apt-get, or without root, nothing is attempted", async (t) => {
  await assert.rejects(ensureNodePackages(machine(t).options), /there is no apt-get to install them with/);
  const { root, bin, options } = machine(t, { uid: 1000 });
  writeScript(join(bin, "apt-get"), `echo called > ${root}/called`);
  await assert.rejects(ensureNodePackages(options), /real nodes need root/);
  assert.throws(() => readFileSync(join(root, "called")));
});

test("a busybox that needs a dynamic loader does not serve", (t) => {
  const { bin, options } = machine(t);
  writeFileSync(join(bin, "busybox"), elf(INTERPRETER), { mode: 0o755 });
  const found = findNodePackages(options);
  assert.ok("reasons" in found);
  assert.ok(found.reasons.includes(`${bin}/busybox is not a static program (Debian package busybox-static)`));
  assert.ok(isStaticProgram(write(bin, "static", elf(LOAD))));
  assert.ok(!isStaticProgram(write(bin, "script", Buffer.from("#!/bin/sh\n"))));
});

function write(folder: string, name: string, content: Buffer): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}
