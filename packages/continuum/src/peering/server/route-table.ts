import type { PeerRoute, RawRoute } from "../../peer-routes.ts";
import { PROTOCOL } from "../../protocol.ts";

export interface FoundRoute {
  readonly route: PeerRoute;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern {
  readonly route: PeerRoute;
  readonly segments: readonly string[];
}

/** Letters that a part of a path may hold where a route names it with a colon: names of objects, ids. */
const PARAMETER = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;

/** Finds the route for a path. Nothing is decoded: a path with an escape in it is nobody's. */
export class RouteTable {
  readonly #patterns: readonly Pattern[];
  readonly #raw: readonly RawRoute[];

  constructor(routes: readonly PeerRoute[], raw: readonly RawRoute[]) {
    this.#patterns = routes.map((route) => ({ route, segments: (PROTOCOL + route.path).split("/") }));
    // The longest first, so that a prefix below another one has its own route.
    this.#raw = [...raw].sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /** `wrongMethod`: the path is known, and the method is not. */
  find(method: string, path: string): FoundRoute | "wrongMethod" | undefined {
    const segments = path.split("/");
    let known = false;
    for (const pattern of this.#patterns) {
      const params = match(pattern.segments, segments);
      if (params === undefined) continue;
      if (pattern.route.method === method) return { route: pattern.route, params };
      known = true;
    }
    return known ? "wrongMethod" : undefined;
  }

  findRaw(path: string): RawRoute | undefined {
    return this.#raw.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
  }
}

function match(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (!wanted.startsWith(":")) {
      if (wanted !== segment) return undefined;
    } else if (PARAMETER.test(segment)) params[wanted.slice(1)] = segment;
    else return undefined;
  }
  return params;
}
