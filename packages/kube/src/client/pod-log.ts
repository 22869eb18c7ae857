import type { RequestOptions } from "./interfaces.ts";
import type { QueryValue } from "./resource-path.ts";

export interface LogOptions extends RequestOptions {
  /** Needed where a pod has several. */
  container?: string;
  /** Goes on until the container ends. */
  follow?: boolean;
  /** The container before the last restart. */
  previous?: boolean;
  timestamps?: boolean;
  tailLines?: number;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  limitBytes?: number;
  /** @default "All" */
  stream?: "All" | "Stdout" | "Stderr";
}

export function logQuery(options: LogOptions): Record<string, QueryValue> {
  const { signal: _, ...query } = options;
  return { ...query };
}
