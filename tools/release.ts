// `npm run release [-- FOLDER]`: what is shipped. One bundled file for each program, and more for the agent, with everything in them but Node; an npm
// package of them that installs `fjord`; and the folder that the Dockerfile copies.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildPage } from "@fjord/dashboard";
import { buildRelease, PARTS, PROGRAMS, SPLIT } from "@fjord/testbed/release";
import { outputFolderOrEnd } from "./output/output-folder.ts";
import { packageManifest } from "./release/package-manifest.ts";

const root = dirname(import.meta.dirname);
const output = { command: "npm run release", usual: "dist/release", sign: "package/fjord.mjs" };
const folder = outputFolderOrEnd(root, output);
const pack = join(folder, "package");
rmSync(folder, { recursive: true, force: true });
mkdirSync(pack, { recursive: true });

await buildRelease(root, pack);
await buildPage(join(pack, "page"));
// What microkube knows of Kubernetes' kinds is data.
cpSync(join(root, "packages/microkube/data"), join(pack, "microkube/data"), { recursive: true });
const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  license: string;
};
writeFileSync(
  join(pack, "package.json"),
  packageManifest({
    version,
    license,
    programs: Object.keys(PROGRAMS),
    parts: [...Object.keys(PARTS), ...[...SPLIT].map((program) => `${program}-*`)],
  }),
);
for (const file of ["LICENSE", "README.md"]) cpSync(join(root, file), join(pack, file));
for (const program of Object.keys(PROGRAMS)) {
  chmodSync(join(pack, `${program}.mjs`), 0o755);
  const parts = readdirSync(pack).filter((name) => SPLIT.has(program) && name.startsWith(`${program}-`));
  const bytes = [`${program}.mjs`, ...parts].reduce((sum, name) => sum + statSync(join(pack, name)).size, 0);
  console.log(`${program}: ${(bytes / 1024).toFixed(0)} KB, files: ${parts.length + 1}`);
}
const archive = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: pack })
  .toString()
  .trim();
console.log(`npm package: ${join(folder, archive)} (${(statSync(join(folder, archive)).size / 1024).toFixed(0)} KB)`);
