import { contains, formatRange, type IpRange, parseRange } from "../ip-range.ts";
import { EXPORT_RANGES } from "../link-address.ts";
import type { ExportedAddress } from "../network-state.ts";
import { type PeerRules, RulesOfPeer } from "./peer-rules.ts";

/**
 * Where what comes over links to addresses of exports is led: by a hash to a chain for each, so that nothing depends on how many there are. What is
 * not as it must be is left out, and with it all that would go there.
 */
export function exportRules(exports: readonly ExportedAddress[]): PeerRules {
  const rules = new RulesOfPeer();
  for (const each of exports) {
    const address = parseRange(each.address);
    if (address === undefined || !contains(EXPORT_RANGES[address.family], address)) continue;
    const { family } = address;
    const chain = `export${family}-${address.first - EXPORT_RANGES[family].first}`;
    const leading = each.ports.flatMap((port) => portRules(port, address));
    if (leading.length === 0) continue;
    rules.chain(chain, leading);
    rules.element(`exports${family}`, formatRange(address), `: jump ${chain}`);
    if (each.masquerade) rules.element(`masked${family}`, formatRange(address), "");
  }
  return rules;
}

function portRules({ protocol, port, backends }: ExportedAddress["ports"][number], { family }: IpRange): string[] {
  const isPort = (value: number) => Number.isInteger(value) && value > 0 && value <= 65_535;
  const ways = backends.flatMap((backend) => {
    const to = parseRange(backend.address);
    return to?.family === family && isPort(backend.port) ? [{ to: formatRange(to), port: backend.port }] : [];
  });
  const [first] = ways;
  if (!isPort(port) || (protocol !== "TCP" && protocol !== "UDP") || first === undefined) return [];
  const ip = family === 4 ? "ip" : "ip6";
  const match = `${protocol.toLowerCase()} dport ${port}`;
  if (ways.length === 1) {
    const host = family === 4 ? first.to : `[${first.to}]`;
    return [`${match} dnat ${ip} to ${host}:${first.port}`];
  }
  const all = ways.map(({ to, port: there }, index) => `${index} : ${to} . ${there}`).join(", ");
  return [`${match} dnat ${ip} to numgen random mod ${ways.length} map { ${all} }`];
}
