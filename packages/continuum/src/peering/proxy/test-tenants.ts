import type { Site } from "@fjord/api";
import type { Tenant, Tenants } from "../../tenants.ts";
import { tenantOf } from "../tenant/tenant-forge.ts";

/** Contracts that a test makes and ends. */
export class TestTenants implements Tenants {
  readonly #live = new Map<string, Tenant>();
  readonly #listeners = new Set<(consumer: string) => void>();

  get(consumer: string): Tenant | undefined {
    return this.#live.get(consumer);
  }

  onChange(listener: (consumer: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(consumer: string, live: boolean): void {
    if (live) this.#live.set(consumer, tenantOf(consumer));
    else this.#live.delete(consumer);
    for (const listener of this.#listeners) listener(consumer);
  }
}

/** Sites that a test knows, without an API. */
export class TestSites {
  readonly #sites = new Map<string, Site>();
  readonly #listeners = new Set<(id: string) => void>();

  get = (id: string): Site | undefined => this.#sites.get(id);

  set(site: Site): void {
    const id = site.spec.id ?? "";
    this.#sites.set(id, site);
    for (const listener of this.#listeners) listener(id);
  }

  delete(id: string): void {
    this.#sites.delete(id);
    for (const listener of this.#listeners) listener(id);
  }

  list(): Site[] {
    return [...this.#sites.values()];
  }

  onChange(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    for (const id of this.#sites.keys()) listener(id);
    return () => this.#listeners.delete(listener);
  }
}
