import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { temporaryDirectory, writeScript } from "./fake-programs.ts";
import { parseVersion, probeVersion } from "./version-probe.ts";

test("the version is found in what each program prints", () => {
  assert.equal(parseVersion("Kubernetes v1.36.3\n"), "v1.36.3");
  assert.equal(parseVersion("Client Version: v1.32.4\nKustomize Version: v5.5.0\n"), "v1.32.4");
  assert.equal(parseVersion("etcd Version: 3.6.16\nGit SHA: Not provided\nGo Version: go1.26.8\n"), "v3.6.16");
  assert.equal(parseVersion("CoreDNS-1.15.0\nlinux/amd64, go1.26.8, \n"), "v1.15.0");
  assert.equal(parseVersion("Kubernetes v1.37.0-alpha.1+abc\n"), "v1.37.0-alpha.1+abc");
  assert.equal(parseVersion("no such option\n"), undefined);
});

test("a program that hangs, even with a child holding its output open, is given up", (t) => {
  const path = writeScript(join(temporaryDirectory(t), "kubectl"), "sleep 12 & sleep 12");
  const start = Date.now();
  assert.deepEqual(probeVersion(path, ["--version"], 200), { problem: "did not tell its version within 0.2 s" });
  assert.ok(Date.now() - start < 10_000);
});

test("a program that fails, is none, or says something else tells why it is of no use", (t) => {
  const directory = temporaryDirectory(t);
  assert.deepEqual(probeVersion(writeScript(join(directory, "a"), "exit 3"), ["--version"]), {
    problem: "`--version` failed (exit code 3)",
  });
  assert.deepEqual(probeVersion(join(directory, "missing"), ["--version"]), { problem: "cannot run (ENOENT)" });
  assert.deepEqual(probeVersion(writeScript(join(directory, "b"), "echo hello"), ["--version"]), {
    problem: "does not tell its version",
  });
});
