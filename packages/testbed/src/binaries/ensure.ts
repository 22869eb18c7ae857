import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Clock, describeError, systemClock } from "@fjord/base";
import {
  addRecords,
  type CacheRecord,
  cacheDirectory,
  cacheFolder,
  faultOf,
  prepareCache,
  recordOf,
  workshopDirectory,
} from "./cache.ts";
import { downloadRelease, RELEASE_SITES, type ReleaseSites } from "./download.ts";
import { BinariesUnavailable, BuiltWrong } from "./errors.ts";
import {
  type Attempt,
  Binaries,
  type Binary,
  binaryOf,
  type FindOptions,
  findBinaries,
  type Missing,
  type Source,
} from "./find.ts";
import { buildWithGo, type Circumstances } from "./go-build.ts";
import { isAlive, withLock } from "./lock.ts";
import { type Platform, platformOf } from "./platform.ts";
import type { Progress } from "./progress.ts";
import { type Component, type Recipe, title, type Want } from "./recipes.ts";
import { probeVersion } from "./version-probe.ts";

export interface EnsureOptions extends FindOptions {
  readonly progress?: Progress;
  /** Aborting ends a running build with all its processes. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly platform?: Platform;
  readonly sites?: ReleaseSites;
}

/**
 * Finds binaries, and gets into the cache what is missing: built with Go, else downloaded. What is there already costs
 * neither network nor Go.
 */
export async function ensureBinaries(options: EnsureOptions): Promise<Binaries> {
  const circumstances: Circumstances = {
    env: options.env,
    platform: options.platform ?? platformOf(process),
    clock: options.clock ?? systemClock,
    progress: options.progress ?? (() => {}),
    signal: options.signal ?? new AbortController().signal,
  };
  circumstances.signal.throwIfAborted();
  const { binaries, missing } = findBinaries(options);
  const all: Binary[] = [...binaries.all];
  for (const group of Map.groupBy(missing, ({ want }) => want).values()) {
    all.push(...(await obtain(group, options, circumstances)));
  }
  return new Binaries(all);
}

/** Gets the missing components of one recipe, under the lock of its cache folder. */
async function obtain(
  group: readonly Missing[],
  options: EnsureOptions,
  circumstances: Circumstances,
): Promise<Binary[]> {
  const [first] = group;
  if (first === undefined) return [];
  const { want } = first;
  const folder = resolve(cacheFolder(cacheDirectory(options.env), want.recipe));
  const { clock, progress, signal } = circumstances;
  prepareCache(folder);
  const onWait = (pid: number, seconds: number) =>
    progress({ type: "waiting", title: title(want.recipe), pid, seconds });
  return withLock(`${folder}.lock`, { clock, signal, onWait }, async () => {
    const start = clock.now();
    // Whoever held the lock before may have got them.
    const still = group.filter(
      ({ component }) => faultOf(folder, component.name, options.scrutiny ?? "quick") !== undefined,
    );
    const components = still.map(({ component }) => component);
    const here = group
      .filter((missing) => !still.includes(missing))
      .map(({ component }) => cached(want, component, folder, "cache"));
    if (components.length === 0) return here;
    const source = await make(
      want.recipe,
      components,
      folder,
      still.flatMap(({ attempts }) => attempts),
      options,
      circumstances,
    );
    const names = components.map(({ name }) => name);
    progress({ type: "ready", title: title(want.recipe), components: names, seconds: (clock.now() - start) / 1000 });
    return [...here, ...components.map((component) => cached(want, component, folder, source))];
  });
}

function cached(want: Want, component: Component, folder: string, source: Source): Binary {
  return binaryOf(want, component, join(folder, component.name), source);
}

async function make(
  recipe: Recipe,
  components: readonly Component[],
  folder: string,
  earlier: readonly Attempt[],
  options: EnsureOptions,
  circumstances: Circumstances,
): Promise<Source> {
  const ways = [
    {
      source: "Go module registry",
      origin: "go",
      work: (workshop: string) => buildWithGo(recipe, components, workshop, circumstances),
    },
    {
      source: "release site",
      origin: "download",
      work: (workshop: string) =>
        downloadRelease(recipe, components, workshop, options.sites ?? RELEASE_SITES, circumstances),
    },
  ] as const;
  const attempts = [...earlier];
  const causes: unknown[] = [];
  for (const { source, origin, work } of ways) {
    try {
      await inWorkshop(folder, async (workshop) => {
        await work(workshop);
        await install(recipe, components, workshop, folder, origin);
      });
      return source;
    } catch (error) {
      circumstances.signal.throwIfAborted();
      const reason = describeError(error);
      circumstances.progress({ type: "failed", title: title(recipe), source, reason });
      causes.push(error);
      attempts.push(...components.map(({ name }) => ({ source, component: name, reason })));
    }
  }
  const names = components.map(({ name }) => name).join(", ");
  throw new BinariesUnavailable(
    {
      components: names,
      title: title(recipe),
      attempts: describeAttempts(attempts),
    },
    { cause: new AggregateError(causes, `cannot get ${names}`) },
  );
}

/** One line per place and reason; components that share a reason share the line. */
export function describeAttempts(attempts: readonly Attempt[]): string {
  const lines = Map.groupBy(attempts, ({ source, reason }) => JSON.stringify([source, reason]));
  const bySource = Map.groupBy(lines.values(), ([first]) => first?.source);
  return [...bySource.values()]
    .flat()
    .map((group) => {
      const everyone = group.length === attempts.filter(({ source }) => source === group[0]?.source).length;
      const who = everyone ? "" : `${group.map(({ component }) => component).join(", ")}: `;
      return `  - ${group[0]?.source}: ${who}${group[0]?.reason}`;
    })
    .join("\n");
}

/** A directory for one attempt, gone afterwards. Those of processes that died are removed on the way. */
async function inWorkshop(folder: string, work: (workshop: string) => Promise<void>): Promise<void> {
  const parent = workshopDirectory(folder);
  for (const name of readdirSync(parent)) {
    if (!isAlive(Number.parseInt(name, 10))) {
      // A compiler that outlived its killed parent may still be writing there for a moment.
      rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 10 });
    }
  }
  const workshop = join(parent, `${process.pid}-${randomUUID()}`);
  mkdirSync(workshop);
  try {
    await work(workshop);
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}

/** Checks what was made, moves it into the cache and, last of all, records it. */
async function install(
  { pin }: Recipe,
  components: readonly Component[],
  workshop: string,
  folder: string,
  origin: CacheRecord["origin"],
): Promise<void> {
  const records: Record<string, CacheRecord> = {};
  for (const { name, versionArguments } of components) {
    const made = join(workshop, name);
    if (versionArguments !== undefined) {
      chmodSync(made, 0o755);
      const probe = probeVersion(made, versionArguments, 30_000);
      const reason =
        "problem" in probe
          ? `it ${probe.problem}`
          : probe.version === pin.version
            ? undefined
            : `it says it is ${probe.version}`;
      if (reason !== undefined) throw new BuiltWrong({ component: `${name} ${pin.version}`, reason });
    }
    await flush(made);
    renameSync(made, join(folder, name));
    records[name] = recordOf(join(folder, name), pin.version, origin);
  }
  addRecords(folder, records);
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r+");
  await file.sync();
  await file.close();
}
