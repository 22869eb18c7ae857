import type { Family, IpRange } from "./ip-range.ts";
import { lastOf } from "./ip-range.ts";
import { summarise } from "./ranges.ts";

/** Many ranges, of which it is asked often whether one has an address. */
export class RangeSet {
  readonly #byFamily: Readonly<Record<Family, readonly IpRange[]>>;

  constructor(ranges: readonly IpRange[]) {
    const all = summarise(ranges);
    this.#byFamily = { 4: all.filter(({ family }) => family === 4), 6: all.filter(({ family }) => family === 6) };
  }

  has({ family, first }: IpRange): boolean {
    const ranges = this.#byFamily[family];
    let [low, high] = [0, ranges.length];
    // Behind `low` are those that begin after the address.
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ranges[middle] as IpRange).first <= first) low = middle + 1;
      else high = middle;
    }
    const before = ranges[low - 1];
    return before !== undefined && first <= lastOf(before);
  }
}
