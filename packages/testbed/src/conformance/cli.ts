// `npm run conformance -- SUITE`: runs specs of Kubernetes' own end-to-end suite against nodes, or a control
// plane, on this machine.
import { existsSync } from "node:fs";
import { copyFile, mkdir, open, readFile, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError, type ErrorType, FjordError, silentLogger } from "@fjord/base";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  type Binaries,
  describeProgress,
  ensureBinaries,
  ensureNodePackages,
  ensureSuitePrograms,
} from "../binaries/index.ts";
import { RootNeededError } from "../errors.ts";
import { allowInotify } from "../nodes/inotify.ts";
import { conformanceSets, startConformanceBed } from "./conformance-bed.ts";
import { controlPlaneSets, startControlPlaneBed } from "./control-plane-bed.ts";
import { type Explained, explain } from "./explanations.ts";
import { checkPattern } from "./pattern.ts";
import { behind, type ConformanceResult, joined } from "./result.ts";
import { runSuite } from "./run-suite.ts";
import { type Suite, suiteNames, suitesOf } from "./suites.ts";
import { type ConformanceTarget, conformanceTargets, isControlPlane, referenceOf } from "./target.ts";

interface Options {
  target?: ConformanceTarget;
  focus: string[];
  skip: string[];
  procs: number;
  nodes?: number;
  json?: string;
  compare?: boolean;
  logs?: string;
}

/** What Kubernetes' own passes, found out in this run, recorded, or known. */
type Passed = ConformanceResult | Pick<ConformanceResult, "passed">;

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const say = (text: string) => void process.stderr.write(`${text}\n`);
const fromHere = (path: string) => resolve(process.env.INIT_CWD ?? process.cwd(), path);
const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => interrupt.abort(new Error("interrupted")));
}

const program = new Command("conformance")
  .description(
    "Run specs of Kubernetes' own end-to-end suite against nodes (needs root) or a control plane on this machine",
  )
  .argument("<suite>", `one of: ${suiteNames.join(", ")}`)
  .addOption(
    new Option("--target <name>", "what is judged (default: what the suite is for)").choices(conformanceTargets),
  )
  .option("--focus <regexp>", "only specs whose names match, instead of the suite's; may be repeated", collect, [])
  .option("--skip <regexp>", "leave specs out whose names match; may be repeated", collect, [])
  .option("--procs <count>", "specs at a time", positiveInteger, 8)
  .option(
    "--nodes <count>",
    "nodes of the site (default: 1; for a control plane 3 simulated ones, or 2 with containers)",
    positiveInteger,
  )
  .option("--json <file>", "write the result to a file", fromHere)
  .option(
    "--compare",
    "run the same on Kubernetes' own too, and list what passes there alone (default for offload and network)",
  )
  .option("--no-compare", "compare with what is recorded of Kubernetes' own in docs/conformance")
  .option("--logs <directory>", "keep the logs of the suite and of the nodes there", fromHere)
  .action(main);

async function main(name: string, options: Options): Promise<void> {
  const parts = suitesOf(name);
  if (parts === undefined) return program.error(`There is no suite ${name}: ${suiteNames.join(", ")}`);
  // Found out before the work and not after it.
  for (const pattern of [...options.focus, ...options.skip]) checkPattern(pattern);
  for (const { suite } of parts) {
    const target = options.target ?? suite.target;
    if (isControlPlane(target) !== isControlPlane(suite.target)) {
      return program.error(
        `The specs of ${name} cannot judge ${target}: one is about nodes, the other a control plane`,
      );
    }
  }
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && parts.every(({ suite }) => suite.containers)) throw new RootNeededError({ action: "run containers" });
  if (options.json) await (await open(options.json, "a")).close();
  // Kubelets need more of them than many systems allow, where other beds have theirs.
  const giveBack = allowInotify();
  if (giveBack !== undefined) process.once("exit", giveBack);
  const ours: ConformanceResult[] = [];
  const theirs: ConformanceResult[] = [];
  const known: Passed[] = [];
  const lost: Explained[] = [];
  for (const part of parts) {
    if (part.suite.containers && !isRoot) {
      say(`Left out, because only root can run containers: ${part.suite.title}`);
      continue;
    }
    if (parts.length > 1) say(`\n${part.name}: ${part.suite.title}`);
    const target = options.target ?? part.suite.target;
    const reference = referenceOf(target);
    const result = await judge(target, part.suite, options);
    ours.push(result);
    const isCompared = target !== reference && (options.compare ?? part.suite.compares ?? false);
    if (isCompared) theirs.push(await judge(reference, part.suite, options));
    const passed = isCompared ? theirs.at(-1) : await recorded(part.name, part.suite, result);
    if (passed === undefined) continue;
    known.push(passed);
    lost.push(...explain(behind(result, passed), part.suite.explanations ?? []));
  }
  const [first, ...rest] = ours;
  if (first === undefined) return;
  const result = joined([first, ...rest]);
  const [reference, ...others] = theirs;
  if (options.json) {
    const difference = reference && { [reference.target]: joined([reference, ...others]), behind: lost };
    await writeFile(options.json, `${JSON.stringify({ ...result, ...difference }, undefined, 2)}\n`);
  }
  if (rest.length > 0) {
    process.stdout.write(`\nIn all ${result.passed.length} of ${result.run} passed in ${result.seconds} s\n`);
  }
  if (known.length > 0) {
    const what = isControlPlane(result.target) ? "control plane" : "kubelet";
    const both = known.map((one) => ("run" in one ? `${one.target}: ${one.passed.length} of ${one.run} passed\n` : ""));
    const told = lost.map((each) => described(each, result));
    process.stdout.write(
      `\n${both.join("")}${lost.length} pass on Kubernetes' own ${what} and not here${listed(told)}\n`,
    );
  }
  if (lost.some(({ why }) => why === undefined)) process.exitCode = 1;
}

async function judge(target: ConformanceTarget, suite: Suite, options: Options): Promise<ConformanceResult> {
  const { signal } = interrupt;
  const progress = (event: Parameters<typeof describeProgress>[0]) => say(describeProgress(event));
  const sets = suite.containers ? conformanceSets(target, suite.network) : controlPlaneSets;
  const binaries = await ensureBinaries({ env: process.env, sets, progress, signal });
  const { nodes = suite.nodes } = options;
  await using place = await start(target, suite, binaries, nodes);
  let total = 0;
  let ended = 0;
  try {
    const result = await runSuite(place.site, {
      target,
      binaries,
      focus: options.focus.length > 0 ? options.focus : suite.focus,
      skip: [...suite.skip, ...options.skip],
      procs: options.procs,
      ...(isControlPlane(target) && { nodes }),
      listener: {
        total: (count) => {
          total = count;
        },
        ended: ({ name, outcome, seconds }) =>
          say(`${++ended}/${total} ${outcome === "failed" ? "FAILED" : outcome} ${name} (${Math.round(seconds)} s)`),
      },
      signal,
    });
    process.stdout.write(`\n${describe(result)}\n`);
    return result;
  } finally {
    const directory = `${target}${suite.containers && isControlPlane(target) ? "-containers" : ""}`;
    if (options.logs) await keepLogs(place.site.processes, join(options.logs, directory));
  }
}

async function start(target: ConformanceTarget, { containers, network }: Suite, binaries: Binaries, nodes: number) {
  const { signal } = interrupt;
  const log = {
    ...silentLogger,
    warn: (message: string, fields?: object) => say(`${message} ${JSON.stringify(fields)}`),
  };
  if (!containers) {
    if (!isControlPlane(target)) throw new Error(`simulated nodes cannot judge ${target}`);
    say(`Starting ${target} and ${nodes} simulated node(s)`);
    return startControlPlaneBed({ target, binaries, nodes, log, signal });
  }
  const progress = (event: Parameters<typeof describeProgress>[0]) => say(describeProgress(event));
  const tools = await ensureNodePackages({ env: process.env, progress, signal });
  say(
    isControlPlane(target)
      ? `Starting ${target} and ${nodes} node(s)`
      : `Starting a control plane and ${nodes} node(s) of ${target}`,
  );
  const programs = network && (await ensureSuitePrograms({ env: process.env, progress, signal }));
  return startConformanceBed({
    target,
    binaries,
    tools,
    // One plain site has as many nodes as the sites of a border have together.
    nodes: network && target !== "border" ? nodes * 2 : nodes,
    ...(programs && { programs }),
    log,
    signal,
  });
}

/** Specs are compared with what Kubernetes' own is known to pass, unless it is what is judged. */
async function recorded(name: string, { passed }: Suite, result: ConformanceResult): Promise<Passed | undefined> {
  const reference = referenceOf(result.target);
  if (result.target === reference) return undefined;
  if (passed === "all") return { passed: [...result.passed, ...result.failed] };
  if (passed !== undefined) return { passed };
  const file = join(root, "docs", "conformance", `${name}-${reference}.json`);
  return existsSync(file) ? (JSON.parse(await readFile(file, "utf8")) as ConformanceResult) : undefined;
}

async function keepLogs(processes: readonly { record: { log: string } }[], directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const { record } of processes) await copyFile(record.log, join(directory, basename(record.log)));
}

function describe(result: ConformanceResult): string {
  const { target, run, passed, failed, skipped, reasons, seconds } = result;
  const reason = (names: readonly string[]) => names.map((name) => `${name}\n      ${reasons[name]}`);
  return [
    `${target}: ${passed.length} of ${run} passed in ${Math.round(seconds)} s`,
    failed.length > 0 ? `${failed.length} failed${listed(reason(failed))}` : undefined,
    skipped.length > 0 ? `${skipped.length} do not apply here${listed(reason(skipped))}` : undefined,
  ]
    .filter((line) => line !== undefined)
    .join("\n");
}

function described({ spec, why }: Explained, { reasons }: ConformanceResult): string {
  return `${spec}\n      ${why ?? `not explained: ${reasons[spec]}`}`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "" : `:\n${names.map((name) => `  ${name}`).join("\n")}`;
}

function collect(text: string, earlier: string[]): string[] {
  return [...earlier, text];
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("It must be a whole number above 0.");
  return value;
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = interrupt.signal.aborted ? 130 : 1;
  say(interrupt.signal.aborted ? "Interrupted" : `error: ${describeError(error)}`);
  const { advice } = (error as Error).constructor as Partial<ErrorType<string>>;
  if (error instanceof FjordError && advice !== undefined) say(advice);
}
