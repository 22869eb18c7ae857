/** How many indexes `1,3-5` names below `completions`; a text for what is wrong with it. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let last = -1;
  let total = 0;
  for (const interval of text.split(",")) {
    const limits = interval.split("-");
    if (limits.length > 2) {
      return `the fragment ${JSON.stringify(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    }
    for (const limit of limits) {
      if (!/^[+-]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
      if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`;
    }
    const first = Number(limits[0]);
    const end = Number(limits[1] ?? limits[0]);
    if (limits.length === 2 && first >= end) return `non-increasing order, previous: ${first}, current: ${end}`;
    if (last >= first) return `non-increasing order, previous: ${last}, current: ${first}`;
    total += end - first + 1;
    last = end;
  }
  return total;
}
