import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@fjord/base";
import { runCommand } from "./command.ts";
import { GoMissing, GoTooOld, GoUnverified } from "./errors.ts";
import { which } from "./find.ts";
import { forgeGoMod, joinDocuments, outputName } from "./go-module.ts";
import type { Environment, Platform } from "./platform.ts";
import type { Progress } from "./progress.ts";
import { type Component, type Recipe, title } from "./recipes.ts";
import { compareVersions, GO_WITH_TOOLCHAINS } from "./versions.ts";

/** What getting a binary needs from outside. */
export interface Circumstances {
  readonly env: Environment;
  readonly platform: Platform;
  readonly clock: Clock;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

const REPORT_EVERY_MS = 10_000;

/**
 * Builds components with Go into `workshop`, each under its own name, all programs of a recipe in one `go build`. The user's module and build
 * caches are used, since a rebuild from them takes a minute instead of five; nothing else of the user's Go set-up is written to.
 */
export async function buildWithGo(
  recipe: Recipe,
  components: readonly Component[],
  workshop: string,
  circumstances: Circumstances,
): Promise<void> {
  const env = goEnvironment(circumstances);
  const go = which("go", circumstances.env);
  if (go === undefined) throw new GoMissing({ minimum: recipe.pin.go });
  const nice = which("nice", circumstances.env);
  const report = startReport(recipe, circumstances);
  const run = (...args: string[]) => {
    const [command, rest] = nice === undefined ? [go, args] : [nice, ["-n", "10", go, ...args]];
    return runCommand(command, rest, { ...circumstances, env, cwd: workshop, onLine: report.onLine });
  };
  try {
    const settings = JSON.parse(await run("env", "-json", "GOVERSION", "GOTOOLCHAIN", "GOSUMDB"));
    checkGo(go, settings, recipe.pin.go);
    circumstances.progress({
      type: "building",
      title: title(recipe),
      components: components.map(({ name }) => name),
      minutes: recipe.minutes,
    });
    const module = JSON.parse(await run("mod", "download", "-json", `${recipe.module}@${recipe.pin.version}`));
    await writeFile(join(workshop, "go.mod"), forgeGoMod(recipe, readFileSync(module.GoMod, "utf8")));
    await compile(recipe, components, workshop, run);
    for (const component of components) await collect(component, module.Dir, workshop);
  } finally {
    report.stop();
  }
}

async function compile(
  recipe: Recipe,
  components: readonly Component[],
  workshop: string,
  run: (...args: string[]) => Promise<string>,
): Promise<void> {
  const output = join(workshop, "out");
  await mkdir(output, { recursive: true });
  const flags = ["-v", "-trimpath", "-ldflags", recipe.ldflags.join(" ")];
  const packages = components.flatMap((component) => (component.tests ? [] : (component.package ?? [])));
  if (packages.length > 0) await run("build", ...flags, "-o", `${output}/`, ...packages);
  for (const { package: tested } of components.filter(({ tests }) => tests)) {
    if (tested !== undefined)
      await run("test", "-c", ...flags, "-vet=off", "-o", join(output, outputName(tested)), tested);
  }
}

async function collect(component: Component, moduleDirectory: string, workshop: string): Promise<void> {
  const target = join(workshop, component.name);
  if (component.package !== undefined) await rename(join(workshop, "out", outputName(component.package)), target);
  if (component.documents === undefined) return;
  const files = component.documents.flatMap((folder) => resourcesOf(join(moduleDirectory, folder)));
  await writeFile(target, joinDocuments(files.map((file) => readFileSync(file, "utf8"))));
}

function resourcesOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== "kustomization.yaml");
  return names.sort().map((name) => join(folder, name));
}

/**
 * The user's environment (proxies, GOPROXY, caches) minus whatever would build for another machine, take modules from elsewhere or switch their
 * verification off. "none" is a pattern that matches nothing: an empty value would let the user's `go env -w` settings through.
 */
export function goEnvironment({ env, platform }: Pick<Circumstances, "env" | "platform">): Environment {
  return {
    ...env,
    CGO_ENABLED: "0",
    GO111MODULE: "on",
    GOARCH: platform.arch,
    GOFLAGS: "-mod=mod -buildvcs=false",
    GOINSECURE: "none",
    GONOSUMDB: "none",
    GOOS: platform.os,
    GOWORK: "off",
  };
}

interface GoSettings {
  readonly GOVERSION: string;
  readonly GOTOOLCHAIN: string;
  readonly GOSUMDB: string;
}

export function checkGo(go: string, settings: GoSettings, minimum: string): void {
  const { GOVERSION: version, GOTOOLCHAIN: toolchain, GOSUMDB: database } = settings;
  const fetchesNewer = /auto|path/.test(toolchain) && compareVersions(version, GO_WITH_TOOLCHAINS) >= 0;
  if (compareVersions(version, minimum) < 0 && !fetchesNewer) {
    throw new GoTooOld({ go, version: version.replace(/^go/, ""), minimum, toolchain: toolchain || "not set" });
  }
  if (database === "off") throw new GoUnverified({});
}

/** Counts modules and packages in Go's output, and reports them at a steady pace. */
function startReport(
  recipe: Recipe,
  { clock, progress }: Circumstances,
): { onLine(line: string): boolean; stop(): void } {
  const start = clock.now();
  let modules = 0;
  let packages = 0;
  let cancel = () => {};
  const plan = () => {
    cancel = clock.after(REPORT_EVERY_MS, () => {
      progress({
        type: "still-building",
        title: title(recipe),
        seconds: (clock.now() - start) / 1000,
        packages,
        modules,
      });
      plan();
    });
  };
  plan();
  return {
    stop: () => cancel(),
    onLine(line) {
      if (line.startsWith("go: downloading ")) modules++;
      else if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) packages++;
      else return /^go: (finding|found|added|upgraded) /.test(line);
      return true;
    },
  };
}
