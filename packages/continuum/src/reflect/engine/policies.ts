import { OFFLOADING_NAME, Offloading, Site } from "@fjord/api";
import { type Cache, type SharedCaches, sameContent } from "@fjord/kube";
import { isCustomGroup, type ReflectionRule, rulesOfOwn } from "../../reflection-rules.ts";
import type { ReflectedKind, ReflectionPolicy } from "../reflected-kind.ts";
import { policyFor } from "./policy.ts";

/** The rules of the own Site and of the Offloadings, as they are now. */
export class Policies {
  readonly #sites: Cache<Site>;
  readonly #offloadings: Cache<Offloading>;

  constructor(caches: SharedCaches) {
    this.#sites = caches.open(Site).cache;
    this.#offloadings = caches.open(Offloading).cache;
  }

  of({ kind, policy }: Pick<ReflectedKind, "kind" | "policy">, namespace: string): ReflectionPolicy {
    return policyFor(kind, policy, this.#offloadings.get({ name: OFFLOADING_NAME, namespace }), this.#own());
  }

  /** Rules of the own Site that speak of custom resources. */
  customRules(): readonly ReflectionRule[] {
    return rulesOfOwn(this.#sites.list()).filter(({ group }) => isCustomGroup(group));
  }

  /** Called when rules may be other ones; without a namespace, in all of them. */
  onChange(listener: (namespace?: string) => void): () => void {
    const isOwn = ({ status }: Site) => status?.role === "Self";
    const ofSite = (site: Site) => {
      if (isOwn(site)) listener();
    };
    const ofOffloading = ({ metadata }: Offloading) => listener(metadata.namespace);
    const release = [
      this.#sites.addHandler({
        onAdd: ofSite,
        onUpdate: (old, site) => {
          if (isOwn(old) !== isOwn(site) || !sameContent(old.spec.reflection, site.spec.reflection)) ofSite(site);
        },
      }),
      this.#offloadings.addHandler({
        onUpdate: (old, offloading) => {
          if (!sameContent(old.spec.reflection, offloading.spec.reflection)) ofOffloading(offloading);
        },
      }),
    ];
    return () => {
      for (const each of release) each();
    };
  }

  #own(): Site | undefined {
    return this.#sites.list().find(({ status }) => status?.role === "Self");
  }
}
