import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "@fjord/base";
import type { Binaries } from "../binaries/find.ts";
import type { Site } from "../site.ts";
import { waitFor } from "../wait.ts";
import { SuiteBroken, SuiteEmpty } from "./errors.ts";
import { type ConformanceResult, resultOf } from "./result.ts";
import { fileFollower, type SuiteListener, SuiteLog } from "./suite-log.ts";
import type { ConformanceTarget } from "./target.ts";

export interface SuiteRun {
  readonly target: ConformanceTarget;
  /** With the set `conformance`. */
  readonly binaries: Binaries;
  readonly focus: readonly string[];
  readonly skip?: readonly string[];
  /** How many specs at a time. */
  readonly procs: number;
  /** Of the site, where specs ask how many it has. */
  readonly nodes?: number;
  /** Told how it goes. */
  readonly listener?: SuiteListener;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** The name of the suite among the processes of its site. */
export const suiteProcess = "conformance";

/** Runs specs against a site. The suite is a process of the site, and so goes with it whatever happens. */
export async function runSuite(site: Site, run: SuiteRun): Promise<ConformanceResult> {
  const { clock = systemClock, binaries, signal } = run;
  const directory = join(site.layout.directory, "conformance");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const report = join(directory, "report.json");
  const suite = site.addProcess({
    name: suiteProcess,
    file: binaries.path("ginkgo"),
    args: [
      `--procs=${run.procs}`,
      "--no-color",
      "--silence-skips",
      "-v",
      "--timeout=4h",
      ...run.focus.map((pattern) => `--focus=${pattern}`),
      ...(run.skip ?? []).map((pattern) => `--skip=${pattern}`),
      `--output-dir=${directory}`,
      "--json-report=report.json",
      binaries.path("e2e.test"),
      "--",
      `--kubeconfig=${site.kubeconfig}`,
      `--kubectl-path=${binaries.path("kubectl")}`,
      "--provider=skeleton",
      "--disable-log-dump",
      "--dump-logs-on-failure=false",
      `--e2e-output-dir=${directory}`,
      ...(run.nodes === undefined ? [] : [`--num-nodes=${run.nodes}`]),
    ],
    env: { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: directory, TMPDIR: directory },
  });
  const began = clock.now();
  try {
    await suite.start();
    const news = fileFollower(suite.record.log);
    const log = new SuiteLog(run.listener ?? {});
    const ended = () => {
      const running = suite.running;
      log.write(news());
      return !running;
    };
    await waitFor(ended, {
      clock,
      timeout: 4 * 3600_000,
      interval: 200,
      ...(signal && { signal }),
    });
  } finally {
    await suite.stop();
  }
  const { log } = suite.record;
  if (!existsSync(report)) throw new SuiteBroken({ log, tail: suite.logTail(20) });
  const seconds = Math.round((clock.now() - began) / 1000);
  const result = resultOf(await readFile(report, "utf8"), run.target, seconds);
  if (result.run + result.skipped.length === 0) throw new SuiteEmpty({ focus: run.focus.join(" or ") });
  return result;
}
