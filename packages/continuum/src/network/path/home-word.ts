import type { Link } from "@fjord/api";
import { contains, formatRange, parseRange } from "../ip-range.ts";
import { move, parseAddress, parseCidr } from "../ranges.ts";
import type { Hop, PathEnd } from "./path.ts";

/** What an address means to a guest here that uses a word of its home's, and whose word it is; undefined where it is none. */
export function meantByGuest(
  links: readonly Link[],
  guest: string,
  address: string,
): { readonly address: string; readonly home: string } | undefined {
  const asked = parseAddress(address);
  if (asked === undefined) return undefined;
  for (const { spec } of links) {
    if (spec.guests?.addresses.includes(guest) !== true) continue;
    for (const { range, called } of spec.guests.names) {
      const [place, word] = [parseCidr(range), parseCidr(called ?? "")];
      if (place !== undefined && word !== undefined && contains(word, asked))
        return { address: formatRange(move(asked, word, place)), home: spec.site };
    }
  }
  return undefined;
}

/** The way with what a node does first where the sender has said a word of its home's. */
export function withHomeWord(hops: readonly Hop[], { word }: PathEnd, nameOf: (site: string) => string): Hop[] {
  const [sends, ...rest] = hops;
  if (word === undefined || sends === undefined) return [...hops];
  const home = nameOf(word.home);
  const what = `its node leads guests of ${home} by what ${home} calls others: destination ${word.address} becomes ${sends.destination}`;
  const led: Hop = { ...sends, at: "network", what, rule: `Link ${word.home}, guests`, verdict: "Passes" };
  return [{ ...sends, destination: word.address }, led, ...rest];
}

/** Whether an address is one of those machines that go out by the address that stands for all of them. */
export function isMachine(machines: readonly string[], address: string): boolean {
  const asked = parseAddress(address);
  return (
    asked !== undefined &&
    machines.some((text) => {
      const range = parseRange(text);
      return range !== undefined && contains(range, asked);
    })
  );
}
