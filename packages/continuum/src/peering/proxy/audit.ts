import type { Logger } from "@fjord/base";
import type { SiteId } from "../../site-identity.ts";

/** One request of a tenant, told when it has ended. Queries are left out: they hold commands. */
export interface AuditLine {
  /** Milliseconds since the epoch at which it began. */
  readonly time: number;
  readonly consumer: SiteId;
  /** Kubernetes' verb; the HTTP method where the request was not understood. */
  readonly verb: string;
  readonly path: string;
  /** 0 where no answer was given. */
  readonly status: number;
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Who refused: `proxy` for what never reached the API server. */
  readonly refusedBy?: "proxy";
}

export type AuditSink = (line: AuditLine) => void;

export function auditLog(logger: Logger): AuditSink {
  return (line) => logger.info("a tenant's request", { ...line });
}
