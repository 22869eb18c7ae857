import type { Family } from "../ip-range.ts";
import type { Fabric } from "./fabric.ts";
import { laneMark, MOST_LANES } from "./lanes.ts";

const LANES = Array.from({ length: MOST_LANES }, (_, lane) => lane);

/** A table of routes of Fjord's own, which is asked before the main one: names of peers' ranges are good in both. */
export interface RouteTableNumbers {
  /** Of the table, and of the rule that leads to it. */
  readonly table: number;
  /** The same for lanes beyond the first, with the lane's number added: their rules lead there what has the lane's mark. */
  readonly laneTable: number;
  /** Who has made a route, as `ip` shows it. */
  readonly protocol: number;
  /** What a packet must have to be led there, as `ip rule` has it. @default nothing: all are */
  readonly mark?: string;
}

/** Into links, at the gateway. */
export const LINK_ROUTES: RouteTableNumbers = { table: 7443, laneTable: 7420, protocol: 174 };
/** To the gateway, at other nodes; asked after the other one. */
export const WAY_ROUTES: RouteTableNumbers = { table: 7444, laneTable: 7430, protocol: 175 };

/** On packets of a node's pods while its agent, which carries links, is no more. Lent until the packet is routed. AWS's network for pods leads what has 0x80 elsewhere, before us. */
export const HEIR_MARK = 0x08;
/** To the node that takes over from this one; asked before all others, of packets with that mark alone. It knows of no lanes. */
export const HEIR_ROUTES: RouteTableNumbers = {
  table: 7419,
  laneTable: 7409,
  protocol: 176,
  mark: `0x${HEIR_MARK.toString(16)}/0x${HEIR_MARK.toString(16)}`,
};

export function tableOf({ table, laneTable }: RouteTableNumbers, lane: number): number {
  return lane === 0 ? table : laneTable + lane;
}

/** Of tables that are there at all. */
export interface Rule {
  readonly table: number;
  /** As `ip rule` has it; absent where everything is led there. */
  readonly mark?: string;
}

export function rulesOf(numbers: RouteTableNumbers, lanes: number): Rule[] {
  return Array.from({ length: lanes }, (_, lane) => {
    const mark = laneMark(lane) ?? numbers.mark;
    return { table: tableOf(numbers, lane), ...(mark !== undefined && { mark }) };
  });
}

/**
 * By range, and by table where that is one of another lane than the first (`240.0.0.0/16 table 7421`), the way that `ip route` takes: `dev fjord0`, or
 * `via 192.0.2.7 dev eth0`. What `backstop` gives is a route of its own, with no way.
 */
export type Routes = ReadonlyMap<string, string>;

export function routesOf({ peers, interfaces }: Pick<Fabric, "peers" | "interfaces">): Map<string, string> {
  const routes = new Map<string, string>();
  for (const { checked, ranges, mtu } of peers.values())
    for (const range of ranges)
      for (const { lane, name } of interfaces) {
        if (lane >= checked.lanes.length) continue;
        const way = wayInto(name, mtu && Math.max(mtu, SMALLEST[familyOf(range)]));
        routes.set(inLane(LINK_ROUTES, lane, range), way);
        // A packet of another lane, too, comes here at last.
        if (lane === 0) routes.set(backstop(range), "");
      }
  return routes;
}

export function inLane(numbers: RouteTableNumbers, lane: number, range: string): string {
  return lane === 0 ? range : `${range} table ${tableOf(numbers, lane)}`;
}

/** The ranges that routes lead somewhere, by whichever lane. */
export function ledRanges(routes: Routes): string[] {
  const ranges = [...routes].flatMap(([key, way]) => (way === "" ? [] : (key.split(" ")[0] ?? [])));
  return [...new Set(ranges)];
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
  const whole = (key: string) => (key.includes(" table ") ? key : `${key} table ${table}`);
  for (const key of from.keys()) if (!to.has(key)) lines[familyOf(key)].push(`route delete ${whole(key)}`);
  for (const [key, way] of to)
    if (from.get(key) !== way)
      lines[familyOf(key)].push(`route replace ${whole(key)} protocol ${protocol} ${way}`.trimEnd());
  return lines;
}

/** The routes of a table and of its lanes out of what `ip -json route show table all protocol NUMBER` prints, of one family. */
export function parseRoutes(numbers: RouteTableNumbers, json: string): Map<string, string> {
  const routes = new Map<string, string>();
  // ip calls the end of a tunnel "dst", as it calls what the route is for.
  const text = json.replace(/("encap":"ip6?","id":\d+,"src":"[^"]*",)"dst":/g, '$1"end":');
  for (const route of JSON.parse(text.trim() || "[]") as RouteJson[]) {
    const lane = LANES.find((each) => route.table === String(tableOf(numbers, each)));
    if (lane === undefined) continue;
    if (route.type === "unreachable") routes.set(backstop(route.dst), "");
    else routes.set(inLane(numbers, lane, route.dst), wayOf(route));
  }
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
  readonly metrics?: readonly { readonly mtu?: number }[];
}

function wayOf({ dev = "", gateway, encap, id, end, metrics }: RouteJson): string {
  const mtu = metrics?.find((each) => each.mtu !== undefined)?.mtu;
  if (encap !== undefined) return `encap ${encap} id ${id} dst ${end} dev ${dev}`;
  return gateway === undefined ? wayInto(dev, mtu) : `via ${gateway} dev ${dev}`;
}

/** An `mtu` that is locked holds for what is passed on too. */
function wayInto(name: string, mtu?: number): string {
  return mtu === undefined ? `dev ${name}` : `mtu lock ${mtu} dev ${name}`;
}
