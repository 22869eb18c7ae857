import type { Pod } from "@fjord/kube";

/** Pods with where they run, for those who have no kubectl. */
export function podTable(pods: readonly Pod[]): string {
  const rows = pods.map(({ metadata, spec, status }) => {
    const statuses = status?.containerStatuses ?? [];
    const ready = `${statuses.filter((each) => each.ready).length}/${spec?.containers.length ?? 0}`;
    const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? "Pending") : "Terminating";
    return [metadata.name ?? "", ready, phase, spec?.nodeName ?? "<none>"];
  });
  const sorted = rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  return aligned([["NAME", "READY", "STATUS", "NODE"], ...sorted]);
}

/** Columns as wide as their widest cell. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
