import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface KeptBuildOptions {
  /** Where the sources are. */
  readonly root: string;
  /** Where builds are kept, each in a folder of its own: two that build the same at one moment do not meet. */
  readonly folder: string;
  /** Builds into a folder that is there, and gives all that the build depends on: files, from the root. */
  readonly build: (into: string) => Promise<readonly string[]>;
}

const SOURCES = "sources.json";
/** By so much the times of files may be behind the clock. */
const TICK_MS = 1_000;

/** Builds where a source is not what it was when it was built last, and gives the folder of the build. */
export async function ensureBuilt({ root, folder, build }: KeptBuildOptions): Promise<string> {
  const kept = buildsIn(folder).find((each) => isCurrent(root, each));
  if (kept !== undefined) return kept;
  const made = join(folder, `making-${process.pid}`);
  mkdirSync(made, { recursive: true });
  try {
    const began = Date.now() - TICK_MS;
    const sources = await build(made);
    const text = JSON.stringify(Object.fromEntries(sources.map((source) => [source, stampOf(root, source, began)])));
    writeFileSync(join(made, SOURCES), text);
    for (const older of buildsIn(folder)) if (!isCurrent(root, older)) rmSync(older, { recursive: true, force: true });
    const place = join(folder, createHash("sha256").update(text).digest("hex").slice(0, 16));
    if (!existsSync(place)) renameSync(made, place);
    return place;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function buildsIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => !name.startsWith("making-") && existsSync(join(folder, name, SOURCES)))
    .map((name) => join(folder, name));
}

function isCurrent(root: string, build: string): boolean {
  const sources = JSON.parse(readFileSync(join(build, SOURCES), "utf8")) as Record<string, string>;
  return Object.entries(sources).every(([source, stamp]) => stampOf(root, source) === stamp);
}

/** One that changed while it was being built may be in the build as it was or as it is: no such build is taken again. */
function stampOf(root: string, source: string, began = Number.POSITIVE_INFINITY): string {
  const { size, mtimeMs } = statSync(join(root, source), { throwIfNoEntry: false }) ?? { size: -1, mtimeMs: 0 };
  return mtimeMs < began ? `${size} ${mtimeMs}` : "changed meanwhile";
}
