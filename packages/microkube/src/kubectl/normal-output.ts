/** What is another's on each site. */
export interface SiteWords {
  readonly site: string;
  readonly server: string;
}

/** The letters and digits that Kubernetes makes random names and hashes of. */
const RANDOM = "[bcdfghjklmnpqrstvwxz2456789]";

const rules: readonly (readonly [RegExp, string])[] = [
  // A line of a program's log.
  [/^[IWEF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] /gm, "LOG "],
  // When its time is over, kubectl may or may not ask once more before it notices.
  [/^LOG "Failed to watch" err="context deadline exceeded".*\n?/gm, ""],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UID"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, "TIME"],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "TIME"],
  [/\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}/g, "TIME"],
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4} \w+(?: m=\S+)?/g, "TIME"],
  // Of a release, by Helm, in seconds.
  [/\bmodifiedAt=\d+/g, "modifiedAt=TIME"],
  [
    /((?:resourceVersion|Resource ?Version|the resource version)\\?"?: +\\?"?|\bresourceVersion\\?":\\?")\d+/g,
    "$1REVISION",
  ],
  [/X509SHA256=[0-9a-f]{64}/g, "X509SHA256=HASH"],
  // Dynamic resources are none of microkube's.
  [/no new claims to deallocate, /g, ""],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "TOKEN"],
  [/\b(?:10|127|198)(?:\.\d{1,3}){3}\b/g, "ADDRESS"],
  [/\b3[0-2]\d{3}\b/g, "NODEPORT"],
  [new RegExp(`-(${RANDOM}{8,10})-(${RANDOM}{5})\\b`, "g"), "-HASH-RANDOM"],
  [new RegExp(`([-=: "])(${RANDOM}{8,10})\\b`, "g"), "$1HASH"],
  [new RegExp(`-(${RANDOM}{5})\\b`, "g"), "-RANDOM"],
  [/(?<![\w.-])(?:<invalid>|\d{1,3}s|\d{1,2}m(?:\d{1,2}s)?)(?: \(x\d+ over \w+\))?(?![\w.-])/g, "AGE"],
  [/\/tmp\/\S*?fjord-session-\w+\/[\w-]+/g, "DIRECTORY"],
];

/** What kubectl printed, without what no two clusters have in common: times, identities, addresses, names by chance. */
export function normalOutput(text: string, { site, server }: SiteWords): string {
  let result = text
    .replaceAll(server, "SERVER")
    .replaceAll(server.replace(/^https:\/\//, ""), "SERVER")
    .replaceAll(site, "SITE");
  const port = new URL(server).port;
  result = result.replaceAll(new RegExp(`\\b${port}\\b`, "g"), "PORT");
  for (const [pattern, replacement] of rules) result = result.replaceAll(pattern, replacement);
  return sortManagedFields(sortEvents(result.split("\n").map(narrow))).join("\n");
}

/** Columns are as wide as what stands in them. */
function narrow(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return (
    indent +
    line
      .slice(indent.length)
      .replaceAll(/\t| {2,}/g, "  ")
      .trimEnd()
  );
}

/** Events of one second have no order. */
function sortEvents(lines: readonly string[]): string[] {
  const start = lines.findIndex((line) => /^Events:$/.test(line.trim()));
  if (start < 0) return [...lines];
  const end = lines.findIndex((line, i) => i > start && !line.startsWith("  "));
  const stop = end < 0 ? lines.length : end;
  return [...lines.slice(0, start + 1), ...lines.slice(start + 1, stop).sort(), ...sortEvents(lines.slice(stop))];
}

/** They are ordered by their times first, and a controller writes in the second of a user's write or in the next one. */
function sortManagedFields(lines: readonly string[]): string[] {
  const sorted: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++] as string;
    sorted.push(line);
    const indent = /^( *)managedFields:$/.exec(line)?.[1];
    if (indent === undefined) continue;
    const entries: string[][] = [];
    while (lines[at]?.startsWith(`${indent}- `) || lines[at]?.startsWith(`${indent}  `)) {
      const next = lines[at++] as string;
      if (next.startsWith(`${indent}- `)) entries.push([]);
      entries.at(-1)?.push(next);
    }
    sorted.push(...entries.map((entry) => entry.join("\n")).sort());
  }
  return sorted;
}
