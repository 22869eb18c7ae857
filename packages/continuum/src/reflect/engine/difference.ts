import { sameContent } from "@fjord/kube";

type Fields = Readonly<Record<string, unknown>>;

/** The JSON merge patch that makes `wanted` of `seen`; undefined where they are the same. */
export function difference(seen: Fields, wanted: Fields): Fields | undefined {
  const patch: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(seen), ...Object.keys(wanted)])) {
    const [before, after] = [seen[name], wanted[name]];
    if (sameContent(before, after)) continue;
    if (after === undefined || after === null) patch[name] = null;
    else if (isFields(before) && isFields(after)) patch[name] = difference(before, after);
    else patch[name] = after;
  }
  return Object.values(patch).some((value) => value !== undefined) ? patch : undefined;
}

/** Whether every field of the merge patch `left` is one that `sent` has set as well. */
export function covers(sent: Fields, left: Fields): boolean {
  return Object.entries(left).every(([name, value]) => {
    const own = sent[name];
    if (own === undefined) return false;
    return isFields(own) && isFields(value) ? covers(own, value) : true;
  });
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
