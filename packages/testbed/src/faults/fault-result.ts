import { appendFileSync } from "node:fs";
import type { Measured } from "./flows.ts";

/** What was measured of one fault. */
export interface FaultResult {
  readonly fault: string;
  /** What is promised, in words. */
  readonly promised: string;
  readonly passed: boolean;
  /** When, as a date. */
  readonly on: string;
  /** Of what was measured: its commit. */
  readonly version?: string;
  /** The machine's load meanwhile: how many processes wanted a processor. */
  readonly load?: number;
  /** What of it, where a fault is measured more than once. */
  readonly part?: string;
  /** Why a long connection has ended. */
  readonly broken?: string;
  readonly silenceMs?: number;
  /** In both directions, as the next two. */
  readonly holesMs?: readonly number[];
  readonly lost?: readonly number[];
  readonly sent?: readonly number[];
  /** How long after the fault the last new connection was begun that failed. */
  readonly lastFailureMs?: number;
  /** The same of endpoints on other nodes than the one that is gone. */
  readonly othersFailureMs?: number;
  /** What else is to be known of how it was measured; gone when it is measured anew. */
  readonly remark?: string;
  /** How long until both sites agreed again. */
  readonly agreedMs?: number;
}

export function resultOf({ datagrams, asked, problem, longestSilenceMs }: Measured): Partial<FaultResult> {
  return {
    ...(problem !== undefined && { broken: problem }),
    silenceMs: Math.round(longestSilenceMs),
    holesMs: datagrams.map(({ blackHoleMs }) => Math.round(blackHoleMs)),
    lost: datagrams.map(({ lost }) => lost),
    sent: datagrams.map(({ sent }) => sent),
    lastFailureMs: Math.round(Math.max(...asked.map(({ lastFailureMs }) => lastFailureMs))),
  };
}

/** For whoever makes a table of it, where somebody wants one. */
export function record(result: FaultResult, file = process.env.FJORD_FAULTS_RECORD): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(result)}\n`);
}

/** Newer ones in the place of older ones of the same faults; the others stay. */
export function withResults(before: readonly FaultResult[], news: readonly FaultResult[]): FaultResult[] {
  const fresh = new Set(news.map(({ fault }) => fault));
  const faults = [...new Set([...before, ...news].map(({ fault }) => fault))];
  const kept = [...before.filter(({ fault }) => !fresh.has(fault)), ...news];
  return faults.flatMap((fault) => kept.filter((each) => each.fault === fault));
}

/** As a file, with short lists on one line, as they are kept. */
export function resultsText(results: readonly FaultResult[]): string {
  const text = JSON.stringify(results, undefined, 2);
  return `${text.replace(/\[\n\s+([\d.,\s]+?)\n\s+\]/g, (_, list: string) => `[${list.split(/,\s+/).join(", ")}]`)}\n`;
}

export const HEADINGS = ["FAULT", "PROMISED", "BLACK HOLE", "DATAGRAMS LOST", "TCP SILENT", "NEW CONNECTIONS FAIL", ""];

export function rowOf(result: FaultResult): string[] {
  const { fault, part, promised, passed, broken, silenceMs, holesMs, lost, sent, lastFailureMs, agreedMs } = result;
  const { othersFailureMs } = result;
  const both = (texts: readonly string[] | undefined) => (texts === undefined ? "-" : [...new Set(texts)].join(" / "));
  const until = (ms: number) => (ms === 0 ? "none" : `until ${seconds(ms)}`);
  const others = othersFailureMs === undefined ? "" : `; on other nodes ${until(othersFailureMs)}`;
  const failing = lastFailureMs === undefined ? "-" : `${until(lastFailureMs)}${others}`;
  return [
    part === undefined ? fault : `${fault}: ${part}`,
    promised,
    both(holesMs?.map(seconds)),
    both(lost?.map((count, i) => `${count} of ${sent?.[i]}`)),
    broken ?? (silenceMs === undefined ? "-" : seconds(silenceMs)),
    agreedMs === undefined ? failing : `agree again after ${seconds(agreedMs)}`,
    passed ? "ok" : "FAILED",
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
