import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { cacheDirectory, cacheFolder, faultOf, type Scrutiny } from "./cache.ts";
import { BinariesDirectoryMissing, BinaryNotAsked, BinaryUnfit } from "./errors.ts";
import type { Environment } from "./platform.ts";
import { type BinarySet, type Component, type ComponentName, type Recipe, type Want, wanted } from "./recipes.ts";
import { type Probe, probeVersion } from "./version-probe.ts";
import { DEFAULT_MINOR, type KubernetesMinor, type Substrate, sameMinor } from "./versions.ts";

export type Source = "FJORD_BINARIES" | "PATH" | "cache" | "Go module registry" | "release site";

/** One place where a component was looked for, and why it did not come from there. */
export interface Attempt {
  readonly source: Source;
  readonly component: ComponentName;
  readonly reason: string;
}

/** One component's file. `minor` is absent where one version serves every Kubernetes. */
export interface Binary {
  readonly component: ComponentName;
  readonly version: string;
  readonly minor?: KubernetesMinor;
  readonly path: string;
  readonly source: Source;
}

export interface Missing {
  readonly want: Want;
  readonly component: Component;
  readonly attempts: readonly Attempt[];
}

export interface FindOptions {
  readonly env: Environment;
  /** @default [DEFAULT_MINOR] */
  readonly minors?: readonly KubernetesMinor[];
  /** @default ["control-plane"] */
  readonly sets?: readonly BinarySet[];
  /** @default "quick" */
  readonly scrutiny?: Scrutiny;
}

/** Where programs are: absolute paths by component and minor. */
export class Binaries {
  readonly all: readonly Binary[];

  constructor(all: readonly Binary[]) {
    this.all = all;
  }

  /** Component to absolute path, for one Kubernetes. */
  of(minor: KubernetesMinor = DEFAULT_MINOR): ReadonlyMap<ComponentName, string> {
    const fitting = this.all.filter((binary) => binary.minor === undefined || binary.minor === minor);
    return new Map(fitting.map(({ component, path }) => [component, path]));
  }

  /** The absolute path of one program; asking for one that was not asked for before is an error. */
  path(component: ComponentName, substrate: Substrate = DEFAULT_MINOR): string {
    // What goes with Fjord's own control plane is of the newest version.
    const minor = substrate === "microkube" ? DEFAULT_MINOR : substrate;
    const path = this.of(minor).get(component);
    if (path === undefined) throw new BinaryNotAsked({ component, minor });
    return path;
  }
}

export interface Findings {
  readonly binaries: Binaries;
  readonly missing: readonly Missing[];
}

/**
 * Looks in FJORD_BINARIES, PATH and the cache, in that order, and neither builds nor downloads. It throws only for a
 * mistake in FJORD_BINARIES: whoever names a directory wants to hear that it does not serve.
 */
export function findBinaries(options: FindOptions): Findings {
  const { env, minors = [DEFAULT_MINOR], sets = ["control-plane"], scrutiny = "quick" } = options;
  const found: Binary[] = [];
  const missing: Missing[] = [];
  for (const want of wanted(minors, sets)) {
    for (const component of want.components) {
      const attempts: Attempt[] = [];
      const miss = (source: Source, reason: string) =>
        void attempts.push({ source, component: component.name, reason });
      const binary =
        fromDirectory(want, component, env, miss) ??
        fromPath(want, component, env, miss) ??
        fromCache(want, component, env, scrutiny, miss);
      if (binary === undefined) missing.push({ want, component, attempts });
      else found.push(binary);
    }
  }
  return { binaries: new Binaries(found), missing };
}

type Miss = (source: Source, reason: string) => void;

function fromDirectory(want: Want, component: Component, env: Environment, miss: Miss): Binary | undefined {
  const source = "FJORD_BINARIES";
  if (!env.FJORD_BINARIES) return void miss(source, "not set");
  const directory = resolve(env.FJORD_BINARIES);
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new BinariesDirectoryMissing({ directory, reason: "it is not a directory" });
  }
  const { version } = want.recipe.pin;
  const path = [join(directory, version, component.name), join(directory, component.name)].find(isFile);
  if (path === undefined) return void miss(source, `not in ${directory}, nor in ${join(directory, version)}`);
  const fitness = fitnessOf(path, component, want.recipe);
  if ("problem" in fitness) {
    throw new BinaryUnfit({ path, component: component.name, version, reason: `it ${fitness.problem}` });
  }
  return { ...binaryOf(want, component, path, source), version: fitness.version };
}

/** A directory named on purpose may hold another patch release, but not another minor. */
function fitnessOf(path: string, { versionArguments }: Component, { pin }: Recipe): Probe {
  if (versionArguments === undefined) return pin;
  if (!isExecutable(path)) return { problem: "is not executable" };
  const probe = probeVersion(path, versionArguments);
  if ("problem" in probe || sameMinor(probe.version, pin.version)) return probe;
  return { problem: `is ${probe.version}` };
}

function fromPath(want: Want, component: Component, env: Environment, miss: Miss): Binary | undefined {
  if (component.versionArguments === undefined) return undefined;
  const path = which(component.name, env);
  if (path === undefined) return void miss("PATH", "not there");
  const probe = probeVersion(path, component.versionArguments);
  if ("problem" in probe) return void miss("PATH", `${path} ${probe.problem}`);
  const { version } = want.recipe.pin;
  if (probe.version !== version) return void miss("PATH", `${path} is ${probe.version}, not ${version}`);
  return binaryOf(want, component, path, "PATH");
}

function fromCache(
  want: Want,
  component: Component,
  env: Environment,
  scrutiny: Scrutiny,
  miss: Miss,
): Binary | undefined {
  const folder = resolve(cacheFolder(cacheDirectory(env), want.recipe));
  const fault = faultOf(folder, component.name, scrutiny);
  if (fault !== undefined) return void miss("cache", `${join(folder, component.name)}: ${fault}`);
  return binaryOf(want, component, join(folder, component.name), "cache");
}

export function binaryOf({ recipe, minor }: Want, { name }: Component, path: string, source: Source): Binary {
  return { component: name, version: recipe.pin.version, path, source, ...(minor === undefined ? {} : { minor }) };
}

/** The first executable of that name in PATH, then in `more`. */
export function which(name: string, env: Environment, more: readonly string[] = []): string | undefined {
  const directories = [...(env.PATH ?? "").split(delimiter).filter((entry) => entry !== ""), ...more];
  return directories.map((directory) => resolve(directory, name)).find((path) => isFile(path) && isExecutable(path));
}

/** What cannot be looked at, as in a directory of PATH that is closed to us, is not there for us. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
