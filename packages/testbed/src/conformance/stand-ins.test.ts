import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { which } from "../binaries/find.ts";
import { curl, sh, standIns } from "./stand-ins.ts";

const parts = {
  agnhost: Buffer.from("agnhost"),
  nonewprivs: Buffer.from("nnp"),
  serving: { certificate: "c", key: "k" },
};
const busybox = which("busybox", process.env, ["/bin", "/usr/bin"]);
const skip = busybox === "/bin/busybox" || busybox === "/usr/bin/busybox" ? false : "no busybox on this machine";

test("every version of an image that can be made has a name, and what is meant to be missing has none", () => {
  const made = standIns(
    [
      "registry.k8s.io/e2e-test-images/agnhost:2.63.0",
      "registry.k8s.io/e2e-test-images/agnhost:2.55",
      "registry.k8s.io/pause:3.10.2",
      "registry.k8s.io/e2e-test-images/perl:5.26",
      "gcr.io/k8s-authenticated-test/agnhost:2.6",
      "invalid.registry.k8s.io/invalid/busybox:1",
    ],
    parts,
  );
  assert.deepEqual(
    made.map(({ name, aliases }) => [name, aliases]),
    [
      ["registry.k8s.io/e2e-test-images/agnhost:2.55", ["registry.k8s.io/e2e-test-images/agnhost:2.63.0"]],
      ["registry.k8s.io/pause:3.10.2", []],
    ],
  );
});

test("the image of an aggregated API server and of its store are made where their programs are given", () => {
  const wanted = ["registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2", "registry.k8s.io/etcd:3.6.8-0"];
  assert.deepEqual(standIns(wanted, parts), []);
  const sampleApiServer = { program: Buffer.from("server"), etcd: Buffer.from("etcd") };
  const made = standIns(wanted, { ...parts, sampleApiServer });
  assert.deepEqual(
    made.map(({ name, files }) => [name, files?.map(({ path }) => path)]),
    [
      ["registry.k8s.io/etcd:3.6.8-0", ["usr/local/bin/etcd"]],
      ["registry.k8s.io/e2e-test-images/sample-apiserver:1.29.2", ["sample-apiserver"]],
    ],
  );
});

test("the shell prints every variable that it was given, and is busybox's otherwise", { skip }, (t) => {
  const folder = programFolder(t, { sh });
  const run = (...args: string[]) =>
    spawnSync(join(folder, "sh"), args, { encoding: "utf8", env: { "a-b": "1", "1.c": "2", PATH: "/bin:/usr/bin" } });
  assert.deepEqual(run("-c", "env").stdout.split("\n").slice(0, 2).sort(), ["1.c=2", "a-b=1"]);
  assert.equal(run("-c", 'echo "$1"; exit 3', "x", "two words").stdout, "two words\n");
  assert.equal(run("-c", "exit 3").status, 3);
  assert.equal(
    run("-c", "echo > /proc/none").stderr,
    `${join(folder, "sh")}: can't create /proc/none: nonexistent directory\n`,
  );
});

test("curl gives pages, codes, and says when nobody is there", { skip }, async (t) => {
  const folder = programFolder(t, { curl });
  const server = createServer((request, response) => {
    response.statusCode = request.url === "/none" ? 404 : 200;
    response.end("hello\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const run = (...args: string[]) => promisify(execFile)(join(folder, "curl"), args, { env: { PATH: folder } });
  assert.equal((await run("-g", "-q", "-s", `${url}/echo?msg=a`)).stdout, "hello\n");
  assert.equal((await run("-s", "-o", "/dev/null", "-w", "%{http_code}", `${url}/none`)).stdout, "404");
  await assert.rejects(run("--connect-timeout", "1", "http://127.0.0.1:1/"), { code: 7 });
});

function programFolder(t: TestContext, scripts: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "stand-ins-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(folder, { recursive: true });
  for (const name of ["wget", "sed", "tail", "timeout", "tr"]) symlinkSync(busybox as string, join(folder, name));
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, name), text, { mode: 0o755 });
  return folder;
}
