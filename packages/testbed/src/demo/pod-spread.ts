import type { Pod } from "@fjord/kube";

/** How many pods each site has. */
export type Spread = Readonly<Record<string, number>>;

/** Of the pods that are Ready and to stay. */
export function spreadOf(pods: readonly Pod[]): Spread {
  const count: Record<string, number> = {};
  for (const { spec, status, metadata } of pods) {
    const isReady = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") ?? false;
    if (!isReady || metadata.deletionTimestamp !== undefined) continue;
    const site = siteOfNode(spec?.nodeName ?? "");
    count[site] = (count[site] ?? 0) + 1;
  }
  return count;
}

/** A virtual node bears its site's name, and so does a node of the site's own: alone, or with a number behind it. */
export function siteOfNode(node: string): string {
  return node.replace(/-node-\d+$/, "");
}

export function total(spread: Spread): number {
  return Object.values(spread).reduce((sum, count) => sum + count, 0);
}

/** Whether each of the sites, and no other, has its share: as many as any other, or one more. */
export function isEven(spread: Spread, sites: readonly string[]): boolean {
  const counts = sites.map((site) => spread[site] ?? 0);
  return (
    total(spread) === counts.reduce((sum, count) => sum + count, 0) && Math.max(...counts) - Math.min(...counts) <= 1
  );
}

export function describeSpread(spread: Spread): string {
  const entries = Object.entries(spread).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? "none" : entries.map(([site, count]) => `${count} at ${site}`).join(", ");
}
