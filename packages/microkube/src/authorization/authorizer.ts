import type { Caller } from "../cluster.ts";

/** What is asked, as RBAC sees it. */
export type Attributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly version: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly labelSelector?: string;
      readonly fieldSelector?: string;
    }
  /** Everything that is no resource: `/healthz`, `/version`. */
  | { readonly verb: string; readonly path: string };

export interface Decision {
  readonly allowed: boolean;
  /** Which rule has allowed it; empty for what nobody has allowed. */
  readonly reason: string;
}

export interface Authorizer {
  authorize(caller: Caller, attributes: Attributes): Decision | Promise<Decision>;
}
