import { portOf } from "../stream/port.ts";
import type { WantedStreams } from "../stream/remote-command.ts";
import type { ContainerAddress, LogRequest } from "./backend.ts";
import { InvalidRequest, MethodNotAllowed, NoSuchPath } from "./errors.ts";
import { parseLogQuery } from "./log-query.ts";
import { isName, isUid } from "./names.ts";

export type PodAddress = Omit<ContainerAddress, "container">;

/** What a request means. */
export type Route =
  | { readonly kind: "logs"; readonly address: ContainerAddress; readonly request: LogRequest }
  | {
      readonly kind: "exec";
      readonly address: ContainerAddress;
      readonly command: readonly string[];
      readonly wanted: WantedStreams;
    }
  | { readonly kind: "attach"; readonly address: ContainerAddress; readonly wanted: WantedStreams }
  | { readonly kind: "portForward"; readonly address: PodAddress; readonly ports: readonly number[] }
  | { readonly kind: "summary"; readonly onlyCpuAndMemory: boolean }
  | { readonly kind: "health"; readonly check: "" | "ping" | "log" | "syncloop" }
  | { readonly kind: "pods" | "runningPods" | "resourceMetrics" | "metrics" | "configz" | "ownLog" };

/** Where a node serves what its own program has logged, beside what kubelets have there. */
export const OWN_LOG_PATH = "logs/fjord.log";

export interface RequestLine {
  readonly method: string;
  /** As it came, path and query. */
  readonly target: string;
}

/** The path of a request, as it came. */
export function pathOf({ target }: RequestLine): string {
  const end = target.indexOf("?");
  return end < 0 ? target : target.slice(0, end);
}

/** Finds out what a request means; throws a `KubeletApiError` where it means nothing here. */
export function parseRoute(line: RequestLine, now: number): Route {
  const path = pathOf(line);
  if (!path.startsWith("/")) throw new InvalidRequest({ problem: "the path does not begin with a slash" });
  const [root = "", ...parts] = segments(path);
  const query = new URLSearchParams(line.target.slice(path.length + 1));
  const upgrade = upgradeRoute(root, parts, query);
  if (upgrade !== undefined) return allowed(line, ["GET", "POST"], upgrade);
  return allowed(line, ["GET"], plainRoute(root, parts, query, now));
}

function allowed(line: RequestLine, methods: readonly string[], route: () => Route): Route {
  if (!methods.includes(line.method)) throw new MethodNotAllowed({});
  return route();
}

function upgradeRoute(root: string, parts: string[], query: URLSearchParams): (() => Route) | undefined {
  const short = root === "portForward" ? 2 : 3;
  const isStream = root === "exec" || root === "attach" || root === "portForward";
  if (!isStream || (parts.length !== short && parts.length !== short + 1)) return undefined;
  return () => {
    if (root === "portForward") return { kind: root, address: podAddress(parts), ports: portsOf(query) };
    const address = containerAddress(parts);
    const wanted = wantedStreams(query);
    return root === "exec"
      ? { kind: root, address, wanted, command: query.getAll("command") }
      : { kind: root, address, wanted };
  };
}

function plainRoute(root: string, parts: string[], query: URLSearchParams, now: number): () => Route {
  const path = [root, ...parts].join("/");
  switch (path) {
    case "pods":
      return () => ({ kind: "pods" });
    case "runningpods":
      return () => ({ kind: "runningPods" });
    case "stats/summary":
      return () => ({ kind: "summary", onlyCpuAndMemory: query.get("only_cpu_and_memory") === "true" });
    case "metrics":
      return () => ({ kind: "metrics" });
    case "metrics/resource":
      return () => ({ kind: "resourceMetrics" });
    case "configz":
      return () => ({ kind: "configz" });
    case OWN_LOG_PATH:
      return () => ({ kind: "ownLog" });
    case "healthz":
      return () => ({ kind: "health", check: "" });
    case "healthz/ping":
    case "healthz/log":
    case "healthz/syncloop":
      return () => ({ kind: "health", check: parts[0] as "ping" | "log" | "syncloop" });
  }
  if (root === "containerLogs" && parts.length === 3)
    return () => ({ kind: "logs", address: containerAddress(parts), request: parseLogQuery(query, now) });
  throw new NoSuchPath({});
}

/** One slash at the end changes nothing; whatever else is unusual in a path leads nowhere. */
function segments(path: string): string[] {
  const parts = path.replace(/\/$/, "").split("/").slice(1);
  return parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw new InvalidRequest({ problem: "the path is not escaped as it should be" });
    }
  });
}

function podAddress([namespace = "", pod = "", uid]: readonly string[]): PodAddress {
  if (!isName(namespace) || !isName(pod) || (uid !== undefined && !isUid(uid))) throw new NoSuchPath({});
  return { namespace, pod, ...(uid !== undefined && { uid }) };
}

/** The uid, where there is one, comes before the container. */
function containerAddress(parts: readonly string[]): ContainerAddress {
  const container = parts.at(-1) ?? "";
  if (!isName(container)) throw new NoSuchPath({});
  return { ...podAddress(parts.slice(0, -1)), container };
}

function wantedStreams(query: URLSearchParams): WantedStreams {
  const has = (name: string) => query.get(name) === "1" || query.get(name) === "true";
  const tty = has("tty");
  const wanted = { stdin: has("input"), stdout: has("output"), stderr: has("error") && !tty, tty };
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr)
    throw new InvalidRequest({ problem: "you must specify at least 1 of stdin, stdout, stderr" });
  return wanted;
}

/** Only clients that speak WebSocket without SPDY name the ports beforehand. */
function portsOf(query: URLSearchParams): number[] {
  const texts = query.getAll("port").flatMap((value) => value.split(","));
  if (texts.length > 100) throw new InvalidRequest({ problem: "too many ports" });
  return texts.map((text) => {
    const port = portOf(text);
    if (port === undefined)
      throw new InvalidRequest({ problem: `unable to parse ${JSON.stringify(text.slice(0, 20))} as a port` });
    return port;
  });
}
