import { type Family, formatRange, type IpRange, parseRange } from "../ip-range.ts";
import { summarise } from "../ranges.ts";
import type { CaptureProtocol, CaptureRequest } from "./capture-request.ts";

/** A table of its own: links do not notice whether it is there. */
export const CAPTURE_TABLE = "inet fjord-capture";

/** One capture, and what its link is made of now. */
export interface TableCapture {
  /** To which the kernel logs; nobody else's on this node. */
  readonly group: number;
  readonly request: Pick<CaptureRequest, "hosts" | "ports" | "protocol" | "snaplen">;
  readonly interfaces: readonly string[];
  /** Of the peer, as they are called here. */
  readonly ranges: readonly string[];
}

const families = [
  { family: 4, ip: "ip" },
  { family: 6, ip: "ip6" },
] as const;

/** Chains by name: hooks and rules. */
export function captureChains(captures: readonly TableCapture[]): Map<string, readonly string[]> {
  const chains = new Map<string, readonly string[]>();
  for (const { group, request } of captures)
    for (const [name, rules] of wanted(group, request)) chains.set(name, rules);
  const lead = (side: "iifname" | "oifname", field: "saddr" | "daddr") =>
    captures.flatMap(({ group, interfaces, ranges }) =>
      families.flatMap(({ family, ip }) => {
        const some = ofFamily(ranges, family);
        const names = interfaces.map((name) => JSON.stringify(name));
        if (some.length === 0 || names.length === 0) return [];
        return [`${side} ${setOf(names)} ${ip} ${field} ${setOf(some)} jump ${chainOf(group)}`];
      }),
    );
  // What comes in has been let in by then, and has the own names; what goes out has not yet the peer's.
  chains.set("arrive", ["type filter hook prerouting priority raw + 1; policy accept;", ...lead("iifname", "saddr")]);
  chains.set("leave", ["type filter hook postrouting priority 249; policy accept;", ...lead("oifname", "daddr")]);
  return chains;
}

/** Text for one `nft -f`: the table as it shall be, in the place of whatever there is; none where nobody captures. */
export function captureTable(captures: readonly TableCapture[]): string {
  const removed = `table ${CAPTURE_TABLE}\ndelete table ${CAPTURE_TABLE}\n`;
  if (captures.length === 0) return removed;
  const chains = [...captureChains(captures)].map(([name, lines]) => `chain ${name} {\n${lines.join("\n")}\n}`);
  return `${removed}table ${CAPTURE_TABLE} {\n${chains.join("\n")}\n}\n`;
}

/** What a packet comes to that is of the link; then, one after the other, what it has to be. */
const chainOf = (group: number, step = 0) => `capture-${group}${step === 0 ? "" : `-${step}`}`;

const protocols: Readonly<Record<CaptureProtocol, string>> = {
  tcp: "tcp",
  udp: "udp",
  icmp: "{ icmp, ipv6-icmp }",
};

/** A chain for each thing that a packet has to be, of which any of the rules leads on; what none does goes back. The last one logs it. */
function wanted(group: number, request: TableCapture["request"]): [string, string[]][] {
  const { hosts = [], ports = [], protocol, snaplen } = request;
  const steps: string[][] = [];
  if (protocol !== undefined) steps.push([`meta l4proto ${protocols[protocol]}`]);
  const set = setOf(ports.map(String));
  if (ports.length > 0)
    steps.push(["sport", "dport"].map((side) => `meta l4proto { tcp, udp, sctp } th ${side} ${set}`));
  for (const list of hosts)
    steps.push(
      families.flatMap(({ family, ip }) => {
        const some = ofFamily(list, family);
        return some.length === 0 ? [] : ["saddr", "daddr"].map((side) => `${ip} ${side} ${setOf(some)}`);
      }),
    );
  const chains = steps.map((rules, step): [string, string[]] => [
    chainOf(group, step),
    rules.map((rule) => `${rule} goto ${chainOf(group, step + 1)}`),
  ]);
  // One by one: what the kernel collects first has the time of the last.
  const log = `log group ${group}${snaplen === undefined ? "" : ` snaplen ${snaplen}`} queue-threshold 1`;
  // Those that are led to are made first.
  return [[chainOf(group, steps.length), [log]], ...chains.reverse()];
}

/** nftables takes no address twice. */
function ofFamily(texts: readonly string[], family: Family): string[] {
  const ranges: IpRange[] = texts.flatMap((text) => parseRange(text) ?? []);
  return summarise(ranges.filter((range) => range.family === family)).map(formatRange);
}

const setOf = (elements: readonly string[]) => `{ ${elements.join(", ")} }`;
