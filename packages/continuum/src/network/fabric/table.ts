import { type Family, formatRange, type IpRange, netmask } from "../ip-range.ts";
import { EXPORT_RANGES, LINK_RANGES, MACHINE_ADDRESSES, PROBE_PORT } from "../link-address.ts";
import { FLOW_PRIORITIES, OPENING } from "./flow-bound.ts";
import { exportPorts, laneParts } from "./lanes.ts";

export const TABLE = "inet fjord";

/** On a packet that a rule of its own lets through; groups have smaller numbers. */
export const OPEN_MARK = 0xffff_ffff;

/** The mark was lent. */
const ADMIT = "meta mark set 0 accept";

/** What is the same for all peers. */
export interface TableOptions {
  /** The WireGuard interfaces. */
  readonly interfaces: readonly string[];
  /** The own ranges. */
  readonly own: readonly IpRange[];
  /** The own addresses on links, by which gateways probe them: of each lane that is here. @default none */
  readonly linkAddresses?: readonly string[];
  /** The own address by which hubs lead here, and WireGuard's ports; present where this site is behind a hub, or is one. */
  readonly relay?: { readonly address: string; readonly ports: readonly number[] };
  /** The prefix lengths of peers' ranges, for which there are maps. */
  readonly lengths: Readonly<Record<Family, readonly number[]>>;
  /** Whether anything is exported. @default false */
  readonly exporting?: boolean;
  /** How many lanes links have. @default 1 */
  readonly lanes?: number;
  /** Of several lanes, the interface of each that is here. @default none */
  readonly laneInterfaces?: readonly (readonly [number, string])[];
  /** Whether other nodes carry lanes too. @default false */
  readonly isShared?: boolean;
  /** Machines of the site that go out by the address that stands for them. @default none */
  readonly machines?: readonly string[];
}

type LaneInterfaces = NonNullable<TableOptions["laneInterfaces"]>;

/** TCP's beginnings, in which each end says how large segments it takes. */
const SYN = "tcp flags & (syn | rst) == syn";

/** A chain or set as it stands inside of its table. */
export interface TableParts {
  readonly sets: ReadonlyMap<string, string>;
  readonly chains: ReadonlyMap<string, TableChain>;
}

export interface TableChain {
  /** Where packets come into it; absent where other chains lead to it. */
  readonly hook?: string;
  readonly rules: readonly string[];
}

/**
 * The rules that every packet of a link passes. On arrival, before anything else sees it, it gets this site's own names and
 * must then belong to a group; on leaving, after everything else, it must belong to one and gets the peer's names. In
 * between all have addresses that are good here, so that Services, connection tracking and policies work as ever.
 * Marks are free there: nobody has set one yet, or nobody will ask for it.
 */
export function tableParts({
  interfaces,
  own,
  linkAddresses = [],
  relay,
  lengths,
  exporting = false,
  lanes = 1,
  laneInterfaces = [],
  isShared = false,
  machines = [],
}: TableOptions): TableParts {
  const quoted = interfaces.map((name) => JSON.stringify(name)).join(", ");
  // Names are compared at less cost than looked up, and most nodes have one.
  const names = interfaces.length === 1 ? quoted : `{ ${quoted} }`;
  const sets = new Map<string, string>([
    ["denied-in", "counter"],
    ["denied-out", "counter"],
  ]);
  const chains = new Map<string, TableChain>([
    [
      "arrive",
      {
        hook: "type filter hook prerouting priority raw; policy accept;",
        rules: [`iifname ${names} meta nfproto vmap { ipv4 : goto arrive4, ipv6 : goto arrive6 }`],
      },
    ],
    [
      "leave",
      {
        // After address translation of others (srcnat is 100).
        hook: "type filter hook postrouting priority 250; policy accept;",
        rules: [`oifname ${names} meta nfproto vmap { ipv4 : goto leave4, ipv6 : goto leave6 }`],
      },
    ],
    [
      "keep",
      {
        // The first translation of a connection is the last: as what it is, it is safe from those of the pods' network. Before that of the way to other nodes.
        hook: "type nat hook postrouting priority srcnat - 2; policy accept;",
        rules: ([4, 6] as const).flatMap((family) => {
          const ip = family === 4 ? "ip" : "ip6";
          const ranges = own.filter((range) => range.family === family).map(formatRange);
          if (ranges.length === 0) return [];
          return [
            `oifname ${names} ${ip} saddr { ${ranges.join(", ")} } snat ${ip} to ${ip} saddr`,
            `iifname ${names} ${ip} daddr { ${ranges.join(", ")} } snat ${ip} to ${ip} saddr`,
          ];
        }),
      },
    ],
    [
      "clamp",
      {
        // By the routes, which know how large a packet each peer gets: of both directions, so whichever end has it.
        hook: "type filter hook forward priority mangle; policy accept;",
        rules: ["iifname", "oifname"].map((side) => `${side} ${names} ${SYN} tcp option maxseg size set rt mtu`),
      },
    ],
  ]);
  for (const family of [4, 6] as const) addFamily(family, lengths[family], sets, chains);
  addFlowMarks(names, lengths, sets, chains);
  if (linkAddresses.length > 0) addProbe(linkAddresses, chains);
  if (relay !== undefined) addRelay(relay, sets, chains);
  if (exporting) addExports(names, isShared ? laneInterfaces : [], sets, chains);
  if (machines.length > 0) addMachines({ names, own, machines, laneInterfaces }, chains);
  const laned = laneParts(lanes, lengths, isShared);
  for (const [name, set] of laned.sets) sets.set(name, set);
  for (const [name, chain] of laned.chains) chains.set(name, chain);
  return { sets, chains };
}

/** Whose a new flow is, for as long as it is counted: its packet's own mark may be somebody else's by then. */
function addFlowMarks(
  names: string,
  lengths: TableOptions["lengths"],
  sets: Map<string, string>,
  chains: Map<string, TableChain>,
): void {
  const hook = (priority: number) => `type filter hook prerouting priority ${priority}; policy accept;`;
  for (const family of [4, 6] as const) {
    const ip = family === 4 ? "ip" : "ip6";
    const maps = [
      { name: `gateways${family}`, source: `${ip} saddr` },
      ...lengths[family].map((length) => ({
        name: `from${family}-${length}`,
        source: `${ip} saddr & ${netmask(family, length)}`,
      })),
    ];
    for (const { name } of maps) sets.set(name, `map { type ipv${family}_addr : mark; }`);
    chains.set(`begin${family}`, { rules: maps.map(({ name, source }) => `ct mark set ${source} map @${name}`) });
  }
  chains.set("begin", {
    hook: hook(FLOW_PRIORITIES.mark),
    rules: [`iifname ${names} ${OPENING} meta nfproto vmap { ipv4 : goto begin4, ipv6 : goto begin6 }`],
  });
  chains.set("begun", { hook: hook(FLOW_PRIORITIES.unmark), rules: [`iifname ${names} ${OPENING} ct mark set 0`] });
}

/**
 * Gateways ask each other how links are. The source can be none but the peer's own: by WireGuard where it comes over a link, and what comes by any other way with such an
 * address, of a pod, of the node or of a neighbour, ends before anybody hears it. Of the node's own processes only the one that has the port is heard.
 */
function addProbe(addresses: readonly string[], chains: Map<string, TableChain>): void {
  const [own, gateways] = [`{ ${addresses.join(", ")} }`, `{ ${LINK_RANGES.map(formatRange).join(", ")} }`];
  const before = (name: string, ...rules: string[]) =>
    chains.set(name, { rules: [...rules, ...(chains.get(name)?.rules ?? [])] });
  const [arriving, leaving] = [`ip6 saddr ${gateways} ip6 daddr ${own}`, `ip6 saddr ${own} ip6 daddr ${gateways}`];
  const probe = `udp sport ${PROBE_PORT} udp dport ${PROBE_PORT} accept`;
  // Where nobody listens just now, the kernel says so, and thereby that the link is well: WireGuard counts it. Nobody has to read it, and before connections are
  // tracked nobody knows what it answers: it ends here, and is no packet that was denied.
  const unheard = "icmpv6 type destination-unreachable";
  before("arrive6", `${arriving} ${probe}`, `${arriving} ${unheard} drop`);
  before("leave6", `${leaving} ${probe}`, `${leaving} ct state related ${unheard} accept`);
  const { hook = "", rules = [] } = chains.get("arrive") ?? {};
  chains.set("arrive", { hook, rules: [...rules, `ip6 saddr ${gateways} drop`, `ip6 daddr ${gateways} drop`] });
}

/**
 * What has been let in to an address of an export is led to where that is, by connection: of its ports alone, and everything else ends here. Answers get the
 * address of the export back before they are judged.
 */
function addExports(
  names: string,
  shared: LaneInterfaces,
  sets: Map<string, string>,
  chains: Map<string, TableChain>,
): void {
  const families = ([4, 6] as const).map((family) => ({ family, ip: family === 4 ? "ip" : "ip6" }));
  for (const { family } of families) {
    sets.set(`exports${family}`, `map { type ipv${family}_addr : verdict; }`);
    sets.set(`masked${family}`, `set { type ipv${family}_addr; }`);
  }
  chains.set("lead", {
    hook: "type nat hook prerouting priority dstnat - 1; policy accept;",
    rules: families.map(({ family, ip }) => `iifname ${names} ${ip} daddr vmap @exports${family}`),
  });
  chains.set("unled", unled(names));
  const { hook = "", rules = [] } = chains.get("keep") ?? {};
  const hidden = families.map(
    ({ family, ip }) => `iifname ${names} ct original ${ip} daddr @masked${family} masquerade`,
  );
  const portOf = shared.flatMap(([lane, name]) =>
    families.map(
      ({ family, ip }) =>
        `iifname "${name}" ct status dnat meta nfproto ipv${family} meta l4proto { tcp, udp } snat ${ip} to ${ip} saddr:${exportPorts(lane)}`,
    ),
  );
  chains.set("keep", { hook, rules: [...hidden, ...portOf, ...rules] });
}

/** What comes over links to an address that stands for something, and was led nowhere by then. */
function unled(names: string): TableChain {
  const rules = ([4, 6] as const).map((family) => {
    const ip = family === 4 ? "ip" : "ip6";
    return `iifname ${names} ${ip} daddr ${formatRange(EXPORT_RANGES[family])} counter name denied-in drop`;
  });
  return { hook: "type filter hook prerouting priority dstnat + 1; policy accept;", rules };
}

/**
 * By connection, as there are many and peers know one: answers find back, and whoever else asks for that one finds nobody. Who comes from elsewhere to a port of this node that leads to a
 * Service would get the node's own address, here by the pods' network and too late: it is one of the machines. Where there are lanes, the port that a connection gets tells which one it
 * takes, so that answers take the same.
 */
function addMachines(
  {
    names,
    own,
    machines,
    laneInterfaces,
  }: { readonly names: string } & Required<Pick<TableOptions, "own" | "machines" | "laneInterfaces">>,
  chains: Map<string, TableChain>,
): void {
  chains.set("unled", unled(names));
  const { hook = "", rules = [] } = chains.get("keep") ?? {};
  const hidden = ([4, 6] as const).flatMap((family) => {
    const ip = family === 4 ? "ip" : "ip6";
    const some = machines.filter((each) => each.includes(":") === (family === 6));
    const pods = own.filter((range) => range.family === family).map(formatRange);
    const address = MACHINE_ADDRESSES[family];
    const host = family === 4 ? address : `[${address}]`;
    if (some.length === 0) return [];
    const which = [
      `${ip} saddr { ${some.join(", ")} }`,
      ...(pods.length === 0 ? [] : [`iifname != ${names} ct status dnat ${ip} saddr != { ${pods.join(", ")} }`]),
    ];
    const ofLane = ([lane, name]: LaneInterfaces[number], from: string) =>
      `oifname "${name}" ${from} meta l4proto { tcp, udp } snat ${ip} to ${host}:${exportPorts(lane)}`;
    return which.flatMap((from) => [
      ...laneInterfaces.map((each) => ofLane(each, from)),
      `oifname ${names} ${from} snat ${ip} to ${address}`,
    ]);
  });
  chains.set("keep", { hook, rules: [...hidden, ...rules] });
}

/**
 * A hub passes on what one gateway sends to another, where its owner lets these two: WireGuard's packets, which it cannot read. At the ends they come to
 * WireGuard alone, and from those alone that are behind a hub.
 */
function addRelay(
  { address, ports }: NonNullable<TableOptions["relay"]>,
  sets: Map<string, string>,
  chains: Map<string, TableChain>,
): void {
  sets.set("behind", "set { type ipv4_addr; }");
  sets.set("relays", "set { type ipv4_addr . ipv4_addr; }");
  const before = (name: string, ...rules: string[]) => {
    chains.set(name, { rules: [...rules, ...(chains.get(name)?.rules ?? [])] });
  };
  const passOn = "meta l4proto udp ip saddr . ip daddr @relays accept";
  before("arrive4", `ip saddr @behind ip daddr ${address} udp dport { ${ports.join(", ")} } accept`, passOn);
  before("leave4", `meta l4proto udp ip saddr ${address} ip daddr @behind accept`, passOn);
}

function addFamily(
  family: Family,
  lengths: readonly number[],
  sets: Map<string, string>,
  chains: Map<string, TableChain>,
): void {
  const ip = family === 4 ? "ip" : "ip6";
  const type = `ipv${family}_addr`;
  const lookup = (field: string, map: string) =>
    lengths.map((length) => `${ip} ${field} & ${netmask(family, length)} vmap @${map}${family}-${length}`);
  // A look-up that finds nothing ends its rule. It leaves the mark as it is, which is no local address's or was looked up before.
  const judge = (remote: string, local: string, members: string) => {
    const admit = `${ip} ${local} set ${ip} ${local} . meta mark map @${members}${family} ${ADMIT}`;
    return [
      "meta mark set 0",
      `meta mark set ${ip} ${remote} map @group${family}`,
      admit,
      ...lengths.flatMap((length) => [
        `meta mark set ${ip} ${remote} & ${netmask(family, length)} map @range${family}-${length}`,
        admit,
      ]),
    ];
  };
  sets.set(`group${family}`, `map { type ${type} : mark; }`);
  for (const members of ["arriving", "leaving"])
    sets.set(`${members}${family}`, `map { type ${type} . mark : ${type}; }`);
  for (const length of lengths)
    for (const map of ["in", "out", "open"]) sets.set(`${map}${family}-${length}`, `map { type ${type} : verdict; }`);
  for (const length of lengths) sets.set(`range${family}-${length}`, `map { type ${type} : mark; }`);
  chains.set(`arrive${family}`, {
    rules: [
      ...judge("saddr", "daddr", "arriving"),
      ...lookup("saddr", "in"),
      ...lookup("saddr", "open"),
      `meta mark ${OPEN_MARK} ${ADMIT}`,
      "counter name denied-in drop",
    ],
  });
  chains.set(`leave${family}`, {
    rules: [
      ...judge("daddr", "saddr", "leaving"),
      ...lookup("daddr", "open"),
      `meta mark ${OPEN_MARK} goto rename${family}`,
      "counter name denied-out drop",
    ],
  });
  chains.set(`rename${family}`, { rules: [...lookup("daddr", "out"), ADMIT] });
}
