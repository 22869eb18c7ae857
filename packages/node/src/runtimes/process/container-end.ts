import type { ContainerEnd } from "./records.ts";
import { MOUNTED } from "./scripts.ts";

export interface EndFacts {
  /** What the keeper noted: the exit code; or the node, with a word why. */
  readonly exit: { line: string; time: number };
  readonly main?: { time: number };
  /** Why the program could not be run. */
  readonly problem?: string;
  readonly oomKills: number;
}

const SIGKILLED = 137;

/** The end of a container as its status tells it. */
export function endOf(facts: EndFacts): ContainerEnd {
  const [code, word] = facts.exit.line.split(" ");
  const exitCode = Number(code);
  const times = { finishedAt: facts.exit.time, ...(facts.main ? { startedAt: facts.main.time } : {}) };
  const problem = facts.problem?.split(`${MOUNTED}\n`).at(-1)?.trim();
  if (word === "lost") {
    const message = "the program vanished without a trace of its end: killed from outside, or with the machine";
    return { exitCode, ...times, reason: "Error", message };
  }
  if (word === "unstarted") return { exitCode, ...times, reason: "Error", message: "stopped before it was started" };
  if (problem) return { exitCode, ...times, reason: "ContainerCannotRun", message: problem };
  if (exitCode === SIGKILLED && facts.oomKills > 0) return { exitCode, ...times, reason: "OOMKilled" };
  return { exitCode, ...times, reason: exitCode === 0 ? "Completed" : "Error" };
}
