import type { Pod } from "@fjord/kube";

/** How many pods each node has. */
export type Spread = Readonly<Record<string, number>>;

/** Of the pods that are Ready and to stay. */
export function spreadOf(pods: readonly Pod[]): Spread {
  const count: Record<string, number> = {};
  for (const { spec, status, metadata } of pods) {
    const isReady = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;
    if (!isReady || metadata.deletionTimestamp !== undefined) continue;
    const node = spec?.nodeName ?? "";
    count[node] = (count[node] ?? 0) + 1;
  }
  return count;
}

export function total(spread: Spread): number {
  return Object.values(spread).reduce((sum, count) => sum + count, 0);
}

/** Whether each of the nodes, and no other, has its share: as many as any other, or one more. */
export function isEven(spread: Spread, nodes: readonly string[]): boolean {
  const counts = nodes.map((node) => spread[node] ?? 0);
  return (
    total(spread) === counts.reduce((sum, count) => sum + count, 0) && Math.max(...counts) - Math.min(...counts) <= 1
  );
}

export function describeSpread(spread: Spread): string {
  const entries = Object.entries(spread).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? "none" : entries.map(([node, count]) => `${count} at ${node}`).join(", ");
}
