/** How an element of a list is told from the others: by its merge key's value, or as it is. */
export type Identity = (element: unknown) => unknown;

/**
 * A merged list in order: the patch's elements as in `patchOrder`, those of the server only as in `serverOrder`, both
 * interleaved by where `serverOrder` has them.
 */
export function inOrder(
  merged: readonly unknown[],
  patchOrder: readonly unknown[],
  serverOrder: readonly unknown[],
  identity: Identity,
): unknown[] {
  const patched = positions(patchOrder, identity);
  const served = positions(serverOrder, identity);
  const isPatched = (one: unknown) => patched.has(identity(one));
  const right = sortedBy(merged.filter(isPatched), patched, identity);
  const left = sortedBy(
    merged.filter((one) => !isPatched(one)),
    served,
    identity,
  );
  const result: unknown[] = [];
  let at = 0;
  for (const one of right) {
    const place = served.get(identity(one));
    for (; at < left.length && isBefore(served.get(identity(left[at])), place); at++) result.push(left[at]);
    result.push(one);
  }
  return [...result, ...left.slice(at)];
}

function isBefore(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}

function positions(order: readonly unknown[], identity: Identity): Map<unknown, number> {
  const found = new Map<unknown, number>();
  for (const [index, one] of order.entries()) if (!found.has(identity(one))) found.set(identity(one), index);
  return found;
}

function sortedBy(list: readonly unknown[], places: Map<unknown, number>, identity: Identity): unknown[] {
  const place = (one: unknown) => places.get(identity(one)) ?? Number.POSITIVE_INFINITY;
  return list.toSorted((one, other) => {
    const [a, b] = [place(one), place(other)];
    return a === b ? 0 : a - b;
  });
}
