import type { Pod } from "@fjord/kube";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import type { SiteId } from "../../site-identity.ts";
import { referencesOf } from "./pod-references.ts";

interface Known {
  readonly uid: string;
  readonly site: SiteId;
  /** `resource` and `name` of each object that it needs, on two lines. */
  readonly needs: readonly string[];
}

/** Every pod names it, and every cluster has its own. */
const EVERYWHERE = "kube-root-ca.crt";

/** As a resource: the pods themselves, which are counted but not named. */
export const PODS = "pods";

/** What pods need that name nothing: one list for the many of these. */
const ONLY_ITSELF: readonly string[] = [`${PODS}\n`];

/** Told of an object that pods at a site have begun or ceased to need. */
export type ReferenceListener = (site: SiteId, namespace: string, resource: string, name: string) => void;

/** Which objects the pods at each site need, counted as pods come and go. */
export class SiteReferences {
  readonly #pods: OffloadedPods;
  /** By `namespace/name` of the pod. */
  readonly #known = new Map<string, Known>();
  /** How many pods need an object, by site, namespace, resource and name. */
  readonly #counts = new Map<string, number>();
  readonly #listeners = new Set<ReferenceListener>();

  constructor(pods: OffloadedPods) {
    this.#pods = pods;
  }

  /** Counts from now on. Returns how to stop that. */
  start(): () => void {
    return this.#pods.onChange((namespace, name) => this.#look(namespace, name));
  }

  has(site: SiteId, namespace: string, resource: string, name: string): boolean {
    return this.#counts.has(keyOf(site, namespace, resource, name));
  }

  /** Whether any pod of the namespace is at the site. */
  hasPods(site: SiteId, namespace: string): boolean {
    return this.has(site, namespace, PODS, "");
  }

  onChange(listener: ReferenceListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Counts pods that may have come before anybody listened. */
  lookAt(pods: readonly OffloadedPod[]): void {
    for (const { pod } of pods) this.#look(pod.metadata.namespace ?? "", pod.metadata.name ?? "");
  }

  #look(namespace: string, name: string): void {
    const offloaded = this.#pods.get(namespace, name);
    const key = `${namespace}/${name}`;
    const before = this.#known.get(key);
    const uid = offloaded?.pod.metadata.uid ?? "";
    if (before?.uid === uid && before.site === offloaded?.node.site) return;
    const touched = new Set<string>();
    if (offloaded === undefined) this.#known.delete(key);
    else {
      const now: Known = { uid, site: offloaded.node.site, needs: needsOf(offloaded.pod) };
      this.#known.set(key, now);
      this.#count(namespace, now, 1, touched);
    }
    if (before !== undefined) this.#count(namespace, before, -1, touched);
    for (const each of touched) this.#tell(each);
  }

  #count(namespace: string, { site, needs }: Known, by: 1 | -1, touched: Set<string>): void {
    for (const need of needs) {
      const key = `${site}\n${namespace}\n${need}`;
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
      if (count === 0 || (by === 1 && count === 1)) touched.add(key);
    }
  }

  #tell(key: string): void {
    const [site = "", namespace = "", resource = "", name = ""] = key.split("\n");
    for (const listener of this.#listeners) listener(site, namespace, resource, name);
  }
}

function keyOf(site: SiteId, namespace: string, resource: string, name: string): string {
  return `${site}\n${namespace}\n${resource}\n${name}`;
}

function needsOf(pod: Pod): readonly string[] {
  const references = Object.entries(referencesOf(pod)) as [string, ReadonlySet<string>][];
  const needs = references.flatMap(([resource, names]) =>
    [...names].filter((name) => name !== EVERYWHERE).map((name) => `${resource}\n${name}`),
  );
  return needs.length === 0 ? ONLY_ITSELF : [...ONLY_ITSELF, ...needs];
}
