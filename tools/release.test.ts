import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, matchesGlob } from "node:path";
import { after, test } from "node:test";
import { buildRelease, SPLIT } from "@fjord/testbed/release";
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

test("an agent leaves in files of their own what it seldom needs, and the npm package has them all", async () => {
  const place = join(folder, "agent");
  await buildRelease(root, place, ["fjord-agent"]);
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, [join(place, "fjord-agent.mjs"), ...args]).toString();
  assert.match(run("gateway", "run", "--help"), /^Usage: fjord-agent gateway run /);
  assert.match(run("run", "--help"), /^Usage: fjord-agent run /);
  const parts = [...SPLIT].map((program) => `${program}-*`);
  const { files } = JSON.parse(packageManifest({ version: "1.2.3", license: "", programs: ["fjord-agent"], parts }));
  const built = readdirSync(place);
  assert.deepEqual(
    built.filter((name) => !files.some((pattern: string) => matchesGlob(name, pattern))),
    [],
  );
  // All of a file stays in memory for as long as anything of it may be called.
  const starts = built.filter((name) => /^fjord-agent(-main-.*|-agent-.*|)\.mjs$/.test(name));
  assert.equal(starts.length, 3);
  const read = withImports(place, starts);
  assert.ok(bytes(place, read) < 0.8 * bytes(place, built), `it reads ${read.length} files of ${built.length}`);
});

test("an agent finds by name what it imports when that is needed, of Node's own modules and of libraries too", async () => {
  const place = join(folder, "on-demand");
  await buildRelease(root, place, ["fjord-agent"]);
  const looked: string[] = [];
  for (const file of readdirSync(place))
    for (const [, names = "", from = ""] of readFileSync(join(place, file), "utf8").matchAll(
      /\{([^{}]+)\}=await import\("([^"]+)"\)/g,
    )) {
      const exported = Object.keys(await import(from.startsWith(".") ? join(place, from) : from));
      const wanted = names.split(",").map((name) => name.split(":")[0] ?? "");
      assert.deepEqual(
        wanted.filter((name) => !exported.includes(name)),
        [],
        `${file} imports them from ${from}`,
      );
      looked.push(...wanted);
    }
  for (const name of ["generateKeyPairSync", "parseDocument", "stringify"]) assert.ok(looked.includes(name), name);
});

/** Files with all that they import before they run. */
function withImports(place: string, files: readonly string[]): string[] {
  const seen = new Set(files);
  for (const file of seen) {
    const text = readFileSync(join(place, file), "utf8");
    for (const [, imported = ""] of text.matchAll(/\b(?:from|import)"\.\/([^"]+)"/g)) seen.add(imported);
  }
  return [...seen];
}

function bytes(place: string, files: readonly string[]): number {
  return files.reduce((sum, file) => sum + statSync(join(place, file)).size, 0);
}

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
