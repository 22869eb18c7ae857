/** What a container uses, as it travels between agents: small, since there may be thousands. */
export interface ContainerUsage {
  readonly name: string;
  /** When it was measured: milliseconds since the epoch, by the provider's clock. */
  readonly at: number;
  /** When the container started. */
  readonly started: number;
  readonly nanoCores?: number;
  readonly coreNanoSeconds?: number;
  readonly workingSetBytes?: number;
  readonly usageBytes?: number;
  readonly rssBytes?: number;
}

export interface PodUsage {
  /** The twin namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly ContainerUsage[];
}

/** GET stats/PAGE: what the asking site's guests use. Pages are counted from 0. */
export interface UsagePage {
  /** The provider's clock. */
  readonly now: number;
  readonly pods: readonly PodUsage[];
  /** Whether there is another page. */
  readonly more: boolean;
}

const MOST_CONTAINERS = 128;
/** Beyond it, numbers are no longer exact, and nothing uses that much. */
const LARGEST = Number.MAX_SAFE_INTEGER;
const LATEST = Date.parse("2200-01-01T00:00:00Z");

/** What a provider says its guests use, with only what can be true of anything. Undefined for what is no page at all. */
export function checkUsagePage(value: unknown): UsagePage | undefined {
  if (!isRecord(value) || !Array.isArray(value.pods)) return undefined;
  const now = timeOf(value.now);
  if (now === undefined) return undefined;
  return { now, pods: value.pods.flatMap((each) => podOf(each) ?? []), more: value.more === true };
}

function podOf(value: unknown): PodUsage | undefined {
  if (!isRecord(value) || !Array.isArray(value.containers)) return undefined;
  const { namespace, name } = value;
  if (!isName(namespace) || !isName(name)) return undefined;
  const containers = value.containers.slice(0, MOST_CONTAINERS).flatMap((each) => containerOf(each) ?? []);
  return { namespace, name, containers };
}

function containerOf(value: unknown): ContainerUsage | undefined {
  if (!isRecord(value) || !isName(value.name)) return undefined;
  const at = timeOf(value.at);
  const started = timeOf(value.started);
  if (at === undefined || started === undefined) return undefined;
  return {
    name: value.name,
    at,
    started,
    ...amount("nanoCores", value),
    ...amount("coreNanoSeconds", value),
    ...amount("workingSetBytes", value),
    ...amount("usageBytes", value),
    ...amount("rssBytes", value),
  };
}

function amount(field: string, value: Record<string, unknown>): Record<string, number> {
  const number = value[field];
  const isAmount = typeof number === "number" && number >= 0 && number <= LARGEST;
  return isAmount ? { [field]: Math.floor(number) } : {};
}

function timeOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= LATEST ? value : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
