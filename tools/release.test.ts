import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { buildRelease } from "@fjord/testbed/release";
import { packageManifest } from "./release/package-manifest.ts";

const root = dirname(import.meta.dirname);
// Outside the repository: nothing of its packages can be found from there.
const folder = mkdtempSync(join(tmpdir(), "fjord-release-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a program is one file that needs nothing but Node, and loads little of that before it is needed", async () => {
  await buildRelease(root, folder, ["fjord"]);
  assert.deepEqual(readdirSync(folder), ["fjord.mjs"]);
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, [join(folder, "fjord.mjs"), ...args]).toString();
  assert.match(run("--version"), /^\d+\.\d+\.\d+\n$/);
  assert.match(run("init", "--dry-run"), /^---\napiVersion: apiextensions\.k8s\.io\/v1\n/);
  // What takes longest at the start.
  const code = `process.argv.splice(1, 1, "fjord", "--version"); await import(${JSON.stringify(join(folder, "fjord.mjs"))}); console.log(process.moduleLoadList.filter((name) => /NativeModule (https?|tls|crypto|zlib|child_process)$/.test(name)).join())`;
  assert.match(execFileSync(process.execPath, ["--input-type=module", "-e", code]).toString(), /^\d\S+\n\n$/);
});

test("an older Node is told that it is too old", async () => {
  await buildRelease(root, folder, ["microkube"]);
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.1.0" } })`;
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(older)}`];
  const { status, stderr } = spawnSync(process.execPath, [...flags, join(folder, "microkube.mjs"), "--version"]);
  assert.equal(status, 1);
  assert.match(stderr.toString(), /^error: microkube needs Node 24 or newer, and this is v.*\nhttps:.*\n$/);
});

test("the npm package installs all programs", () => {
  const manifest = JSON.parse(
    packageManifest({
      version: "1.2.3",
      license: "Apache-2.0",
      programs: ["fjord", "fjord-agent"],
      parts: ["fjord-micro"],
    }),
  );
  assert.deepEqual(manifest.bin, { fjord: "./fjord.mjs", "fjord-agent": "./fjord-agent.mjs" });
  assert.ok(manifest.files.includes("fjord-micro.mjs"));
  assert.equal(manifest.dependencies, undefined);
});
