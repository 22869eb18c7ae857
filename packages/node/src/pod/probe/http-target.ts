import { isIPv6 } from "node:net";
import type { Container, LifecycleHandler } from "../pod-containers.ts";

type HttpGet = NonNullable<LifecycleHandler["httpGet"]>;

/** An HTTP request that a probe or a hook makes. */
export interface HttpTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
}

const USER_AGENT = { probe: "kube-probe/1.36", hook: "kube-lifecycle/1.36" };

export function httpTarget(
  httpGet: HttpGet,
  container: Container,
  podIP: string,
  kind: keyof typeof USER_AGENT,
): HttpTarget {
  const host = httpGet.host || podIP;
  const port = portNumber(httpGet.port, container);
  const scheme = (httpGet.scheme ?? "HTTP").toLowerCase();
  const path = httpGet.path ?? "/";
  const url = new URL(
    `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}${path.startsWith("/") ? "" : "/"}${path}`,
  );
  return { url, headers: headersOf(httpGet.httpHeaders ?? [], USER_AGENT[kind]) };
}

/** The number of a port that may be given by the name it has in the container. */
export function portNumber(port: string | number, { ports = [] }: Container): number {
  if (typeof port === "number") return port;
  const named = ports.find(({ name }) => name === port)?.containerPort ?? Number(port);
  if (!Number.isInteger(named) || named < 1 || named > 65535) throw new Error(`invalid port: ${port}`);
  return named;
}

/** A header given twice is sent twice; an empty Accept or User-Agent leaves it out. */
function headersOf(given: readonly { name: string; value: string }[], userAgent: string): HttpTarget["headers"] {
  const headers: Record<string, string[]> = {};
  for (const { name, value } of given) {
    const known = Object.keys(headers).find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
    headers[known] = [...(headers[known] ?? []), value];
  }
  for (const [name, value] of [
    ["Accept", "*/*"],
    ["User-Agent", userAgent],
  ] as const) {
    const own = Object.keys(headers).find((key) => key.toLowerCase() === name.toLowerCase());
    if (own === undefined) headers[name] = [value];
    else if (headers[own]?.join("") === "") delete headers[own];
  }
  // Node takes only one of some, Host among them, and then no list.
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, values.length > 1 ? values : (values[0] ?? "")]),
  );
}
