import type { Amounts } from "@fjord/agent/page-model";

const GIB = 1024 ** 3;

/** An amount as people say it: `1.5`, `3.2 GiB`, `12`. */
export function amountText(resource: string, amount: number | undefined): string {
  if (amount === undefined) return "–";
  if (resource === "cpu") return trimmed(amount / 1000, amount < 10_000 ? 2 : 0);
  if (resource === "memory" || resource.endsWith("storage")) return bytesText(amount);
  return String(amount);
}

export function bytesText(bytes: number): string {
  if (bytes >= 1024 * GIB) return `${trimmed(bytes / 1024 / GIB, 1)} TiB`;
  if (bytes >= GIB) return `${trimmed(bytes / GIB, bytes < 10 * GIB ? 1 : 0)} GiB`;
  return `${trimmed(bytes / 1024 ** 2, 0)} MiB`;
}

export function resourceName(resource: string): string {
  return { cpu: "Processors", memory: "Memory", pods: "Pods" }[resource] ?? resource;
}

/** What a slice is made of, in a few words: `4 cpu · 8 GiB`. */
export function sliceText(amounts: Amounts): string {
  const parts = [
    amounts.cpu !== undefined && `${amountText("cpu", amounts.cpu)} cpu`,
    amounts.memory !== undefined && amountText("memory", amounts.memory),
  ];
  const found = parts.filter((part) => part !== false);
  if (found.length > 0) return found.join(" · ");
  return amounts.pods === undefined ? "" : `${amounts.pods} pods`;
}

/** How long ago, or how long until: `12 s`, `4 min`, `3 h`, `2 d`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(Math.abs(ms) / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function sinceText(time: string | undefined, now: number): string {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? "" : spanText(now - at);
}

export function share(used: number | undefined, of: number | undefined): number {
  return of === undefined || of === 0 || used === undefined ? 0 : Math.min(1, used / of);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
