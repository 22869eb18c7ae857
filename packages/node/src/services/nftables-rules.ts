import { createHash } from "node:crypto";
import { isIPv6 } from "node:net";
import type { Endpoint, ServicePort } from "./service-plan.ts";

export const TABLE = "fjord-services";

/** On packets whose source must become the node's own: clients that would else be answered by another way. */
const MASQUERADE = "0x4000";

export interface RulesContext {
  readonly nodeAddresses: readonly string[];
}

/** Everything in the table of one family, by name. */
export interface Rules {
  readonly chains: ReadonlyMap<string, Chain>;
  /** Clients that stay with one endpoint: these outlive changes. */
  readonly sets: ReadonlyMap<string, string>;
  /** Verdicts by address, protocol and port. */
  readonly maps: ReadonlyMap<string, { readonly type: string; readonly elements: ReadonlyMap<string, string> }>;
}

interface Chain {
  /** For base chains: type, hook and priority. */
  readonly base?: string;
  readonly rules: readonly string[];
}

type Family = "ip" | "ip6";

/** What is to be there, from what is to be served. */
export function serviceRules(plan: readonly ServicePort[], family: Family, context: RulesContext): Rules {
  const isOf = (ip: string) => isIPv6(ip) === (family === "ip6");
  const chains = new Map<string, Chain>();
  const sets = new Map<string, string>();
  const served = new Map<string, string>();
  const nodePorts = new Map<string, string>();
  const refused = new Map<string, string>();
  for (const port of plan) {
    const ips = port.clusterIps.filter(isOf);
    if (ips.length === 0) continue;
    const protocol = port.protocol.toLowerCase();
    const add = (way: "in" | "out", addresses: readonly string[], endpoints: readonly Endpoint[]) => {
      const own = endpoints.filter(({ ip }) => isOf(ip));
      const keys = addresses.map((ip) => `${ip} . ${protocol} . ${port.port}`);
      if (own.length === 0)
        for (const key of keys) refused.set(key, way === "out" && port.keepsClient ? "drop" : "goto refuse");
      if (own.length === 0) return undefined;
      const chain = addService(chains, sets, port, way, family, own);
      for (const key of keys) served.set(key, `goto ${chain}`);
      return chain;
    };
    add("in", ips, port.inside);
    const externals = port.externalIps.filter(isOf);
    if (port.nodePort === undefined && externals.length === 0) continue;
    const chain = add("out", externals, port.outside);
    if (port.nodePort !== undefined && chain !== undefined)
      nodePorts.set(`${protocol} . ${port.nodePort}`, `goto ${chain}`);
  }
  const address = family === "ip" ? "ipv4_addr" : "ipv6_addr";
  const key = `${family} daddr . meta l4proto . th dport`;
  const own = context.nodeAddresses.filter(isOf);
  const nat = [
    `${key} vmap @served`,
    ...(own.length === 0 ? [] : [`${family} daddr { ${own.join(", ")} } meta l4proto . th dport vmap @node-ports`]),
  ];
  const refuse = [`ct state new ${key} vmap @refused`];
  chains.set("refuse", { rules: ["meta l4proto tcp reject with tcp reset", "reject"] });
  chains.set("prerouting", { base: "type nat hook prerouting priority -100;", rules: nat });
  chains.set("output", { base: "type nat hook output priority -100;", rules: nat });
  chains.set("postrouting", {
    base: "type nat hook postrouting priority 100;",
    rules: [`meta mark and ${MASQUERADE} == ${MASQUERADE} meta mark set meta mark and 0xffffbfff masquerade`],
  });
  chains.set("filter-input", { base: "type filter hook input priority -110;", rules: refuse });
  chains.set("filter-forward", { base: "type filter hook forward priority -110;", rules: refuse });
  chains.set("filter-output", { base: "type filter hook output priority -110;", rules: refuse });
  const place = `${address} . inet_proto . inet_service : verdict`;
  const maps = new Map([
    ["served", { type: place, elements: served }],
    ["refused", { type: place, elements: refused }],
    ["node-ports", { type: "inet_proto . inet_service : verdict", elements: nodePorts }],
  ]);
  return { chains, sets, maps };
}

/** One chain that picks an endpoint, and one for each of them. Gives the name of the first. */
function addService(
  chains: Map<string, Chain>,
  sets: Map<string, string>,
  port: ServicePort,
  way: "in" | "out",
  family: Family,
  endpoints: readonly Endpoint[],
): string {
  const name = `${way}-${short(port.id)}`;
  const targets = endpoints.map(({ ip, port: number }) => {
    const chain = `${name}-${short(`${ip} ${number}`)}`;
    const to = family === "ip6" ? `[${ip}]:${number}` : `${ip}:${number}`;
    const clients = `${chain}-clients`;
    if (port.affinitySeconds !== undefined) {
      const address = family === "ip" ? "ipv4_addr" : "ipv6_addr";
      sets.set(clients, `{ type ${address}; flags dynamic,timeout; timeout ${port.affinitySeconds}s; }`);
    }
    chains.set(chain, {
      rules: [
        // One that calls itself by the service's address must see the answer come from there.
        `${family} saddr ${ip} meta mark set meta mark or ${MASQUERADE}`,
        ...(port.affinitySeconds === undefined ? [] : [`update @${clients} { ${family} saddr }`]),
        `meta l4proto ${port.protocol.toLowerCase()} dnat to ${to}`,
      ],
    });
    return { chain, clients };
  });
  const pick = targets.map(({ chain }, index) => `${index} : goto ${chain}`).join(", ");
  chains.set(name, {
    rules: [
      ...(way === "out" && !port.keepsClient ? [`meta mark set meta mark or ${MASQUERADE}`] : []),
      ...(port.affinitySeconds === undefined
        ? []
        : targets.map(({ chain, clients }) => `${family} saddr @${clients} goto ${chain}`)),
      `numgen inc mod ${targets.length} vmap { ${pick} }`,
    ],
  });
  return name;
}

function short(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** One transaction for `nft -f -` from what is there to what is to be. Sets of clients that stay keep their elements. */
export function transaction(before: Rules | undefined, next: Rules, family: Family): string {
  const table = `${family} ${TABLE}`;
  const lines = [`add table ${table}`];
  if (before === undefined) lines.push(`delete table ${table}`, `add table ${table}`);
  for (const [name, { type }] of next.maps) lines.push(`add map ${table} ${name} { type ${type}; }`);
  for (const name of next.maps.keys()) lines.push(`flush map ${table} ${name}`);
  for (const [name, definition] of next.sets) lines.push(`add set ${table} ${name} ${definition}`);
  for (const [name, { base }] of next.chains) {
    lines.push(`add chain ${table} ${name}${base === undefined ? "" : ` { ${base} }`}`);
  }
  const stale = [...(before?.chains.keys() ?? [])];
  for (const name of new Set([...stale, ...next.chains.keys()])) lines.push(`flush chain ${table} ${name}`);
  for (const name of stale) if (!next.chains.has(name)) lines.push(`delete chain ${table} ${name}`);
  for (const name of before?.sets.keys() ?? []) if (!next.sets.has(name)) lines.push(`delete set ${table} ${name}`);
  for (const [name, { rules }] of next.chains)
    for (const rule of rules) lines.push(`add rule ${table} ${name} ${rule}`);
  for (const [name, { elements }] of next.maps) {
    if (elements.size === 0) continue;
    const list = [...elements].map(([key, verdict]) => `${key} : ${verdict}`).join(", ");
    lines.push(`add element ${table} ${name} { ${list} }`);
  }
  return `${lines.join("\n")}\n`;
}
