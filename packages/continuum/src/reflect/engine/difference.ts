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

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
