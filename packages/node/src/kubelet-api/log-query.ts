import type { LogRequest } from "./backend.ts";
import { InvalidLogOptions, InvalidRequest } from "./errors.ts";

/** What `kubectl logs` asks for, from the query of a request. */
export function parseLogQuery(query: URLSearchParams, now: number): LogRequest {
  const tail = query.get("tail") ?? query.get("tailLines");
  const tailLines = tail === null || tail === "all" ? undefined : wholeNumber("tailLines", tail);
  const limitBytes = optional(query.get("limitBytes"), (text) => wholeNumber("limitBytes", text));
  const since = sinceOf(query, now);
  const stream = streamOf(query.get("stream"));
  if (tailLines !== undefined && tailLines < 0) throw new InvalidLogOptions({ problem: "tailLines is negative" });
  if (limitBytes !== undefined && limitBytes < 1) throw new InvalidLogOptions({ problem: "limitBytes is less than 1" });
  return {
    follow: isTrue(query.get("follow")),
    previous: isTrue(query.get("previous")),
    timestamps: isTrue(query.get("timestamps")),
    ...(tailLines !== undefined && { tailLines }),
    ...(since !== undefined && { since }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(stream !== undefined && { stream }),
  };
}

function sinceOf(query: URLSearchParams, now: number): number | undefined {
  const seconds = optional(query.get("sinceSeconds"), (text) => wholeNumber("sinceSeconds", text));
  const time = query.get("sinceTime");
  if (seconds !== undefined && time !== null)
    throw new InvalidLogOptions({ problem: "both sinceSeconds and sinceTime are given" });
  if (seconds !== undefined) {
    if (seconds < 1) throw new InvalidLogOptions({ problem: "sinceSeconds is less than 1" });
    return now - seconds * 1000;
  }
  if (time === null || time === "") return undefined;
  const parsed = Date.parse(time);
  if (Number.isNaN(parsed)) throw new InvalidRequest({ problem: "sinceTime is no time" });
  return parsed;
}

function streamOf(text: string | null): LogRequest["stream"] {
  if (text === null || text === "All") return undefined;
  if (text === "Stdout") return "stdout";
  if (text === "Stderr") return "stderr";
  throw new InvalidRequest({ problem: `invalid stream type ${JSON.stringify(text.slice(0, 40))}` });
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!/^-?\d{1,15}$/.test(text)) throw new InvalidRequest({ problem: `${name} is no number` });
  return value;
}

function optional<T>(text: string | null, parse: (text: string) => T): T | undefined {
  return text === null ? undefined : parse(text);
}

/** As Kubernetes reads flags in queries: anything but these is a yes. */
export function isTrue(text: string | null): boolean {
  return text !== null && text !== "0" && text.toLowerCase() !== "false";
}
