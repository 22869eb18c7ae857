import type { Family } from "../ip-range.ts";
import type { Fabric } from "./fabric.ts";

/** Links have a table of routes of their own, which is asked before the main one. Names of ranges are good in both. */
export const ROUTE_TABLE = 7443;
export const RULE_PREFERENCE = 7443;
/** Who has made a route, as `ip` shows it. */
export const ROUTE_PROTOCOL = 174;

/** Where to: the interfaces, by range. */
export type Routes = ReadonlyMap<string, string>;

export function routesOf({ peers, interfaces }: Fabric): Map<string, string> {
  const devices = interfaces.map(({ name }) => name).join(" ");
  const routes = new Map<string, string>();
  for (const { ranges } of peers.values()) for (const range of ranges) routes.set(range, devices);
  return routes;
}

/** Lines for `ip -batch`, by family. */
export function routeChange(from: Routes, to: Routes): Readonly<Record<Family, readonly string[]>> {
  const lines: Record<Family, string[]> = { 4: [], 6: [] };
  for (const range of from.keys())
    if (!to.has(range)) lines[familyOf(range)].push(`route delete ${range} table ${ROUTE_TABLE}`);
  for (const [range, devices] of to) {
    if (from.get(range) === devices) continue;
    const names = devices.split(" ");
    const way = names.length === 1 ? `dev ${devices}` : names.map((name) => `nexthop dev ${name}`).join(" ");
    lines[familyOf(range)].push(`route replace ${range} table ${ROUTE_TABLE} protocol ${ROUTE_PROTOCOL} ${way}`);
  }
  return lines;
}

/** Routes of the own table out of what `ip -json route show table all protocol 174` prints, of one family. */
export function parseRoutes(json: string): Map<string, string> {
  const routes = new Map<string, string>();
  for (const { dst, dev, nexthops, table } of JSON.parse(json.trim() || "[]") as RouteJson[]) {
    if (table !== String(ROUTE_TABLE)) continue;
    const devices = nexthops === undefined ? [dev ?? ""] : nexthops.map((each) => each.dev);
    routes.set(dst, devices.join(" "));
  }
  return routes;
}

interface RouteJson {
  readonly dst: string;
  readonly dev?: string;
  readonly table?: string;
  readonly nexthops?: readonly { readonly dev: string }[];
}

function familyOf(range: string): Family {
  return range.includes(":") ? 6 : 4;
}
