/** A part of a session with kubectl, in a namespace of its own. */
export interface Chapter {
  readonly about: string;
  /** What lies in the directory in which its commands run. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * One shell command a line. `sorted:` before it means that its lines may come in any order, `last:` that only the last one counts,
   * `unseen:` that what it prints does not, `newest:` that an older kubectl does not know it. A backslash at the end continues a line.
   */
  readonly script: string;
}

export interface Step {
  readonly command: string;
  readonly compare: "all" | "sorted" | "last" | "nothing";
  /** Not for an older kubectl. */
  readonly newest: boolean;
}

const MARKS = { sorted: "sorted", last: "last", unseen: "nothing" } as const;

export function stepsOf(script: string): Step[] {
  return script
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const newest = line.startsWith("newest: ");
      const rest = newest ? line.slice("newest: ".length) : line;
      const [, mark, command = rest] = /^(sorted|last|unseen): (.*)$/.exec(rest) ?? [];
      return { command, newest, compare: mark === undefined ? "all" : MARKS[mark as keyof typeof MARKS] };
    });
}

/** Whether asking again changes nothing, so that a difference may be one of time. */
export function isQuestion({ command }: Step): boolean {
  return /^(timeout \d+ )?kubectl (get|describe|events|top|explain|api-resources|api-versions|auth can-i|auth whoami|rollout history|logs)\b/.test(
    command,
  );
}
