// `npm run check`: types, lint and format, import direction, documentation links, generated files. Side by side, each
// with its time; what fails prints its findings.
import { spawn } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findBrokenLinks } from "./check/document-links.ts";
import { findViolations } from "./check/import-direction.ts";

const root = dirname(import.meta.dirname);

interface Outcome {
  ok: boolean;
  output: string;
}

interface Dependencies {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const checks: Record<string, () => Promise<Outcome>> = {
  types: () => run("tsc", ["-p", "."]),
  "types of the page": () => run("tsc", ["-p", "packages/dashboard"]),
  "lint and format": () => run("biome", ["check", "--error-on-warnings", "--colors=off", "."]),
  "import direction": async () => report(importDirection()),
  "documentation links": async () => report(documentLinks()),
  "generated files": () => run(process.execPath, ["tools/generate.ts", "--check"]),
};

const outcomes = await Promise.all(
  Object.entries(checks).map(async ([name, check]) => {
    const start = performance.now();
    const outcome = await check();
    console.log(`${outcome.ok ? "ok  " : "FAIL"} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    return { name, ...outcome };
  }),
);
const failed = outcomes.filter((outcome) => !outcome.ok);
for (const { name, output } of failed) console.error(`\n== ${name}\n${output.trimEnd()}`);
if (failed.some(({ name }) => name === "lint and format")) console.error("\n`npm run format` mends most of that.");
process.exit(failed.length === 0 ? 0 : 1);

function importDirection(): string[] {
  const files = globSync("packages/*/{src,bench,examples,browser}/**/*.{ts,tsx}", { cwd: root }).map(source);
  const manifests = globSync("packages/*/package.json", { cwd: root }).map((path) => {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(source(path).text) as Dependencies;
    const folder = path.split("/")[1] ?? "";
    // What runs in a browser is bundled when it is built, and needs nothing afterwards.
    const bundled = existsSync(join(root, "packages", folder, "browser")) ? devDependencies : {};
    return { package: folder, dependencies: Object.keys({ ...dependencies, ...bundled }) };
  });
  return findViolations(files, manifests).map(({ path, line, message }) => `${path}:${line}: ${message}`);
}

function documentLinks(): string[] {
  const documents = globSync(["*.md", "docs/**/*.md", "packages/**/*.md"], { cwd: root, exclude: isInstalled }).map(
    source,
  );
  const broken = findBrokenLinks(documents, (path) => existsSync(join(root, path)));
  return broken.map(({ path, line, target, why }) => `${path}:${line}: ${target}: ${why}`);
}

function isInstalled(path: string): boolean {
  return path.includes("node_modules");
}

function source(path: string): { path: string; text: string } {
  return { path, text: readFileSync(join(root, path), "utf8") };
}

function report(findings: string[]): Outcome {
  return { ok: findings.length === 0, output: findings.join("\n") };
}

function run(command: string, args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => resolve({ ok: false, output: `${command}: ${error.message}` }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}
