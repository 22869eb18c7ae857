const line = /a tenant's request time=\d+ consumer="([^"]*)" verb="([^"]*)" path="([^"]*)" status=(\d+)/;
const reads = new Set(["get", "list", "watch"]);

/** Writes of tenants, in an agent's log, that were let through and went somewhere else than into a consumer's namespace. */
export function writesOutside(log: string, twins: ReadonlySet<string>): string[] {
  return log.split("\n").flatMap((text) => {
    const [, consumer = "", verb = "", path = "", status = ""] = line.exec(text) ?? [];
    if (path === "" || reads.has(verb) || Number(status) >= 400 || status === "0") return [];
    const namespace = /\/namespaces\/([^/?]+)\/./.exec(path)?.[1];
    if (namespace !== undefined && (twins.has(namespace) || namespace === `fjord-tenant-${consumer}`)) return [];
    return [`${consumer} was let through with ${verb} ${path}: ${status}`];
  });
}

/** Objects, whatever their generated suffix, that tenants wrote more often than `most`: two who fight over them do that. */
export function writeStorms(log: string, most: number): string[] {
  const counts = new Map<string, number>();
  for (const text of log.split("\n")) {
    const [, consumer = "", verb = "", path = ""] = line.exec(text) ?? [];
    // A create names no object: many of them are many objects.
    if (path === "" || verb === "create" || reads.has(verb)) continue;
    const what = `${consumer}: ${verb} ${path.replace(/-[a-z0-9]{5}$/, "-*")}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > most).map(([what, count]) => `${what}, ${count} times`);
}

/** How many requests of tenants a log tells of. */
export function requestsIn(log: string): number {
  return log.split("\n").filter((text) => line.test(text)).length;
}
