import type { SiteId } from "./site-identity.ts";

/** A consumer at its provider: what the proxy lets it do. */
export interface Tenant {
  readonly consumer: SiteId;
  /** Holds its service account, roles and TwinNamespaces. */
  readonly namespace: string;
  /** `system:serviceaccount:...`: whom the proxy acts as. */
  readonly user: string;
}

export interface Tenants {
  /** Present while a contract with the consumer is in force and the tenant's objects exist. Asked for each request. */
  get(consumer: SiteId): Tenant | undefined;
  onChange(listener: (consumer: SiteId) => void): () => void;
}
