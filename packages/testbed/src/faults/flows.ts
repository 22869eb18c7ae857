import { eventually } from "../acceptance/acceptance-bed.ts";
import { type Attempt, failures, lastFailure, longestBlackHole } from "./black-hole.ts";
import type { LongReport } from "./orders.ts";
import type { StreamPod } from "./stream-pod.ts";

/** One end of what is measured, and where it finds the other. */
export interface FlowEnd {
  readonly pod: StreamPod;
  /** What the other pod is called there. */
  readonly other: string;
  /** The Service that has endpoints at both sites. */
  readonly service: Asked;
  /** Those endpoints, each by itself. */
  readonly endpoints: readonly (Asked & { readonly name: string; readonly node: string })[];
}

interface Asked {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

/** What was seen of all flows while something was wrong. */
export interface Measured {
  /** By end: datagrams there and back. */
  readonly datagrams: readonly {
    readonly sent: number;
    readonly lost: number;
    readonly blackHoleMs: number;
    /** How long after the fault it began. */
    readonly fromMs: number;
  }[];
  /** By end: new connections to the Service. */
  readonly asked: readonly {
    readonly sent: number;
    readonly failed: number;
    /** How long after the fault the last one was begun that failed. */
    readonly lastFailureMs: number;
    readonly by: Readonly<Record<string, number>>;
    /** Each that failed, in words. */
    readonly failures: readonly string[];
  }[];
  /** The same to one endpoint, by either end. */
  readonly endpoints: readonly { readonly name: string; readonly node: string; readonly lastFailureMs: number }[];
  /** What both long connections say; undefined where nothing is wrong. */
  readonly problem?: string;
  readonly longestSilenceMs: number;
}

/** The times that answers need on a machine that has much else to do. */
const LATE_MS = 1_000;
/** What flows for so long flows. */
const STEADY_MS = 3_000;

/** Connections, datagrams and questions between two pods of two sites, as long as a test runs. */
export class Flows {
  readonly #ends: readonly FlowEnd[];

  constructor(...ends: readonly FlowEnd[]) {
    this.#ends = ends;
  }

  begin(): void {
    for (const { pod, other, service, endpoints } of this.#ends) {
      pod.order({ do: "long", id: "long", host: other });
      pod.order({ do: "datagrams", id: "datagrams", host: other });
      pod.order({ do: "ask", id: "ask", everyMs: 100, ...service });
      for (const { name, host, port, path } of endpoints)
        pod.order({ do: "ask", id: `ask ${name}`, everyMs: 500, host, port, path });
    }
  }

  end(): void {
    this.#tell("end");
  }

  /** From now on is measured; what was seen before is forgotten. */
  reset(): void {
    this.#tell("reset");
  }

  /** Until everything has been answered for two seconds. */
  async flowing(timeoutMs = 120_000): Promise<void> {
    const began = Date.now();
    await eventually(
      "all flows are answered",
      async () => {
        const { problem, datagrams, longs } = await this.#look(0, Math.max(began, Date.now() - STEADY_MS));
        if (problem !== undefined) return true;
        const isSteady = datagrams.every(({ sent, lost }) => sent > 0 && lost === 0);
        return Date.now() - began > STEADY_MS && isSteady && longs.every((each) => each < LATE_MS);
      },
      timeoutMs,
    );
  }

  /** What was seen since it was reset, or of what was begun after that. `since` is when the fault began. */
  async measure(since: number, after = 0): Promise<Measured> {
    const { longs: _, ...measured } = await this.#look(since, after);
    return measured;
  }

  #tell(what: "reset" | "end"): void {
    for (const { pod, endpoints } of this.#ends)
      for (const id of ["long", "datagrams", "ask", ...endpoints.map(({ name }) => `ask ${name}`)])
        pod.order({ do: what, id, host: "" });
  }

  async #look(since: number, after = 0): Promise<Measured & { longs: readonly number[] }> {
    const datagrams: Measured["datagrams"][number][] = [];
    const endpoints: Measured["endpoints"][number][] = [];
    const asked: Measured["asked"][number][] = [];
    const longs: number[] = [];
    let problem: string | undefined;
    let longestSilenceMs = 0;
    for (const { pod, endpoints: each } of this.#ends) {
      const long = await pod.report<LongReport>("long");
      const { attempts } = await pod.report<{ attempts: Attempt[] }>("datagrams", after);
      const questions = await pod.report<{ attempts: Attempt[] }>("ask", after);
      problem ??= long.problem;
      longs.push(long.silentMs);
      longestSilenceMs = Math.max(longestSilenceMs, long.longestSilenceMs, long.silentMs);
      // The last ones are on their way.
      const settled = attempts.filter(({ at, ms }) => ms !== undefined || at < Date.now() - LATE_MS);
      const hole = longestBlackHole(settled);
      datagrams.push({
        sent: settled.length,
        lost: settled.filter(({ ms }) => ms === undefined).length,
        blackHoleMs: hole.ms,
        fromMs: hole.ms === 0 ? 0 : hole.from - since,
      });
      const ended = questions.attempts.filter(({ by }) => by !== undefined);
      const by: Record<string, number> = {};
      for (const { by: who = "" } of ended) by[who.split(" ")[0] ?? ""] = (by[who.split(" ")[0] ?? ""] ?? 0) + 1;
      asked.push({
        sent: ended.length,
        failed: ended.filter(({ ms }) => ms === undefined).length,
        lastFailureMs: lastFailure(ended, since),
        by,
        failures: failures(ended, since),
      });
      for (const { name, node } of each) {
        const { attempts: all } = await pod.report<{ attempts: Attempt[] }>(`ask ${name}`, after);
        const lastFailureMs = lastFailure(
          all.filter(({ by: who }) => who !== undefined),
          since,
        );
        endpoints.push({ name, node, lastFailureMs });
      }
    }
    return { datagrams, asked, endpoints, longs, longestSilenceMs, ...(problem !== undefined && { problem }) };
  }
}

/** In one line, for whoever reads what a run has measured. */
export function described({ datagrams, asked, problem, longestSilenceMs }: Measured): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const holes = datagrams
    .map(({ blackHoleMs, fromMs }) => `${seconds(blackHoleMs)} from ${seconds(fromMs)} on`)
    .join(" / ");
  const lost = datagrams.map((each) => `${each.lost} of ${each.sent}`).join(" / ");
  const failed = asked
    .map(({ failed, sent, lastFailureMs, by }) => {
      const last = failed === 0 ? "" : `, the last after ${seconds(lastFailureMs)}`;
      return `${failed} of ${sent}${last} (${Object.entries(by).map(([who, count]) => `${who} ${count}`)})`;
    })
    .join(" / ");
  const failures = asked.map((each) => each.failures.slice(0, 40).join(", ") || "none").join(" / ");
  return [
    `TCP ${problem ?? "whole"}, silent for ${seconds(longestSilenceMs)}`,
    `black hole ${holes}, datagrams lost ${lost}`,
    `new connections failed ${failed}`,
    `those that did: ${failures}`,
  ].join("; ");
}
