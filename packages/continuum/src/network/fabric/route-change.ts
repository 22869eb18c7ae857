import type { Family } from "../ip-range.ts";
import type { Fabric } from "./fabric.ts";

/** A table of routes of Fjord's own, which is asked before the main one: names of peers' ranges are good in both. */
export interface RouteTableNumbers {
  /** Of the table, and of the rule that leads to it. */
  readonly table: number;
  /** Who has made a route, as `ip` shows it. */
  readonly protocol: number;
}

/** Into links, at the gateway. */
export const LINK_ROUTES: RouteTableNumbers = { table: 7443, protocol: 174 };
/** To the gateway, at other nodes; asked after the other one. */
export const WAY_ROUTES: RouteTableNumbers = { table: 7444, protocol: 175 };

/**
 * By range, the way that `ip route` takes: `dev fjord0`, or `via 192.0.2.7 dev eth0`. What `backstop` gives is a route of its own, with no way.
 */
export type Routes = ReadonlyMap<string, string>;

export function routesOf({ peers, interfaces }: Fabric): Map<string, string> {
  const names = interfaces.map(({ name }) => name);
  const routes = new Map<string, string>();
  for (const { ranges, mtu } of peers.values())
    for (const range of ranges)
      routes.set(range, wayInto(names, mtu && Math.max(mtu, SMALLEST[familyOf(range)]))).set(backstop(range), "");
  return routes;
}

/** The largest there is, so that it is taken where there is no other. */
const LAST = 4_294_967_295;

/**
 * The end of a range's ways. A route goes with its interface, as when WireGuard's process dies, and packets would take the next one that fits, the default
 * route at last: in clear, to who knows where. This one stays, and says to senders that nobody is there.
 */
export function backstop(range: string): string {
  return `unreachable ${range} metric ${LAST}`;
}

/** Smaller packets nobody need be able to send. */
const SMALLEST = { 4: 576, 6: 1280 } as const;

/** Lines for `ip -batch`, by family. */
export function routeChange(
  { table, protocol }: RouteTableNumbers,
  from: Routes,
  to: Routes,
): Readonly<Record<Family, readonly string[]>> {
  const lines: Record<Family, string[]> = { 4: [], 6: [] };
  for (const range of from.keys())
    if (!to.has(range)) lines[familyOf(range)].push(`route delete ${range} table ${table}`);
  for (const [range, way] of to)
    if (from.get(range) !== way)
      lines[familyOf(range)].push(`route replace ${range} table ${table} protocol ${protocol} ${way}`.trimEnd());
  return lines;
}

/** The routes of a table out of what `ip -json route show table all protocol NUMBER` prints, of one family. */
export function parseRoutes({ table }: RouteTableNumbers, json: string): Map<string, string> {
  const routes = new Map<string, string>();
  // ip calls the end of a tunnel "dst", as it calls what the route is for.
  const text = json.replace(/("encap":"ip6?","id":\d+,"src":"[^"]*",)"dst":/g, '$1"end":');
  for (const route of JSON.parse(text.trim() || "[]") as RouteJson[])
    if (route.table === String(table))
      if (route.type === "unreachable") routes.set(backstop(route.dst), "");
      else routes.set(route.dst, wayOf(route));
  return routes;
}

export function familyOf(addressOrRange: string): Family {
  return addressOrRange.includes(":") ? 6 : 4;
}

interface RouteJson {
  readonly type?: string;
  readonly dst: string;
  readonly dev?: string;
  readonly table?: string;
  readonly gateway?: string;
  readonly encap?: "ip" | "ip6";
  readonly id?: number;
  readonly end?: string;
  readonly nexthops?: readonly { readonly dev: string }[];
  readonly metrics?: readonly { readonly mtu?: number }[];
}

function wayOf({ dev = "", gateway, encap, id, end, nexthops, metrics }: RouteJson): string {
  const mtu = metrics?.find((each) => each.mtu !== undefined)?.mtu;
  if (nexthops !== undefined)
    return wayInto(
      nexthops.map((each) => each.dev),
      mtu,
    );
  if (encap !== undefined) return `encap ${encap} id ${id} dst ${end} dev ${dev}`;
  return gateway === undefined ? wayInto([dev], mtu) : `via ${gateway} dev ${dev}`;
}

/** An `mtu` that is locked holds for what is passed on too. */
function wayInto(names: readonly string[], mtu?: number): string {
  const into = names.length === 1 ? `dev ${names[0]}` : names.map((name) => `nexthop dev ${name}`).join(" ");
  return mtu === undefined ? into : `mtu lock ${mtu} ${into}`;
}
