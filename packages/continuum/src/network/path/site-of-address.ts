import type { AddressPlan } from "@fjord/api";
import { contains } from "../ip-range.ts";
import { parseAddress, parseCidr } from "../ranges.ts";

/** Whose address it is, by the id of the site; undefined where no plan and no own range has it. */
export function siteOfAddress(
  text: string,
  { id, ranges, plans }: { id: string; ranges: readonly string[]; plans: readonly AddressPlan[] },
): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const within = (cidr: string | undefined) => {
    const range = parseCidr(cidr ?? "");
    return range !== undefined && contains(range, address);
  };
  const peer = plans.find(({ spec }) => spec.peer.some(({ called }) => within(called)));
  if (peer !== undefined) return peer.spec.site;
  const own = [...ranges, ...plans.flatMap(({ spec }) => spec.own.map(({ range }) => range))];
  return own.some(within) ? id : undefined;
}
