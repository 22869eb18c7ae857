import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureBuilt } from "./kept-build.ts";

export interface FjordProgram {
  /** For Node. */
  readonly file: string;
  /** For what V8 makes of it (`NODE_COMPILE_CACHE`). */
  readonly compiled: string;
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** The command `fjord` as it is shipped, which starts sooner than from its thousand sources; kept in `folder` for the next time. */
export async function ensureFjord(folder: string): Promise<FjordProgram> {
  const place = await ensureBuilt({ root, folder, build: buildFjord });
  return { file: join(place, "fjord.mjs"), compiled: join(place, "compiled") };
}

/** The agent's file in the same way; no other programs are to be in `folder`. */
export async function ensureAgent(folder: string): Promise<string> {
  const build = (into: string) => buildPrograms(into, ["fjord-agent"]);
  return join(await ensureBuilt({ root, folder, build }), "fjord-agent.mjs");
}

async function buildFjord(into: string): Promise<string[]> {
  const sources = await buildPrograms(into, ["fjord", "fjord-micro"]);
  mkdirSync(join(into, "microkube"));
  symlinkSync(join(root, "packages/microkube/data"), join(into, "microkube/data"));
  return sources;
}

async function buildPrograms(into: string, programs: readonly string[]): Promise<string[]> {
  // Only where something is built: it loads esbuild.
  const { buildRelease } = await import("./build-release.ts");
  const sources = await buildRelease(root, into, programs);
  const manifests = readdirSync(join(root, "packages")).map((name) => `packages/${name}/package.json`);
  return [...sources, ...manifests, "package-lock.json", "packages/testbed/src/release/build-release.ts"];
}
