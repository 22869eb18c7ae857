import { OFFLOADING_NAME, Offloading, OffloadingRule } from "@fjord/api";
import { type Cache, ifNotFound, isBeingDeleted, Namespace, sameContent } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { ruleFor } from "../namespace/rule-for.ts";

type Spec = Offloading["spec"];

/** How long what was admitted is believed while the watch does not show it. */
const BELIEVED_MS = 10_000;

interface Admitted<T> {
  /** Undefined: its deletion was admitted. */
  readonly spec: T | undefined;
  readonly until: number;
}

/**
 * What holds for the pods of a namespace at this very moment. Watches show things a little late: what this agent has
 * admitted goes before them, and where they show nothing the API is asked.
 */
export class KnownOffloadings {
  readonly #home: Home;
  readonly #offloadings: Cache<Offloading>;
  readonly #rules: Cache<OffloadingRule>;
  /** By namespace. */
  readonly #admitted = new Map<string, Admitted<Spec>>();
  /** By name of the rule. */
  readonly #admittedRules = new Map<string, Admitted<OffloadingRule>>();
  /** Namespaces that a rule matched when they were made, and its template. */
  readonly #promised = new Map<string, Admitted<Spec>>();

  constructor(home: Home) {
    this.#home = home;
    this.#offloadings = home.caches.open(Offloading).cache;
    this.#rules = home.caches.open(OffloadingRule).cache;
  }

  /** What the namespace's pods are to obey; undefined where it is not offloaded. */
  async specFor(namespace: string, signal?: AbortSignal): Promise<Spec | undefined> {
    const believed = this.#believed(namespace);
    if (believed !== undefined) return believed.spec;
    const known = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    if (known !== undefined && !isBeingDeleted(known)) return known.spec;
    return this.#ask(namespace, signal);
  }

  admitted(namespace: string, spec: Spec | undefined): void {
    this.#remember(this.#admitted, namespace, spec);
  }

  admittedRule(name: string, rule: OffloadingRule | undefined): void {
    this.#remember(this.#admittedRules, name, rule);
  }

  promised(namespace: string, spec: Spec): void {
    this.#remember(this.#promised, namespace, spec);
  }

  has(namespace: string): boolean {
    const believed = this.#believed(namespace);
    if (believed !== undefined) return believed.spec !== undefined;
    const known = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    return known !== undefined && !isBeingDeleted(known);
  }

  rules(): OffloadingRule[] {
    const rules = new Map(this.#rules.list().map((rule) => [rule.metadata.name ?? "", rule]));
    for (const [name, { spec: rule, until }] of this.#admittedRules) {
      const seen = rules.get(name);
      const isShown = rule === undefined ? seen === undefined : sameContent(seen?.spec, rule.spec);
      if (isShown || until < this.#home.clock.now()) this.#admittedRules.delete(name);
      else if (rule === undefined) rules.delete(name);
      else rules.set(name, rule);
    }
    return [...rules.values()];
  }

  #believed(namespace: string): Admitted<Spec> | undefined {
    const admitted = this.#admitted.get(namespace);
    if (admitted === undefined) return undefined;
    const known = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    const isThere = known !== undefined && !isBeingDeleted(known);
    // Whoever makes a new one before the old one is gone is refused later on, and tries again: to believe each try would
    // send pods away that have just come home, and the old one would never be gone.
    const isTooSoon = known !== undefined && isBeingDeleted(known) && admitted.spec !== undefined;
    const isShown = admitted.spec === undefined ? !isThere : isThere && sameContent(known.spec, admitted.spec);
    if (!isTooSoon && !isShown && admitted.until >= this.#home.clock.now()) return admitted;
    this.#admitted.delete(namespace);
    return undefined;
  }

  /** The rare case: an Offloading that another agent admitted, or a rule's that is yet to be made. */
  async #ask(namespace: string, signal: AbortSignal | undefined): Promise<Spec | undefined> {
    const { client, clock, namespace: own } = this.#home;
    const options = signal === undefined ? {} : { signal };
    const key = { name: OFFLOADING_NAME, namespace };
    const found = await client.get(Offloading, key, options).catch(ifNotFound);
    if (found !== undefined) return isBeingDeleted(found) ? undefined : found.spec;
    const promised = this.#promised.get(namespace);
    if (promised !== undefined && promised.until >= clock.now()) return promised.spec;
    if (this.rules().length === 0) return undefined;
    const object = await client.get(Namespace, { name: namespace }, options).catch(ifNotFound);
    return object && ruleFor(object, this.rules(), own)?.spec.template;
  }

  #remember<T>(memory: Map<string, Admitted<T>>, key: string, spec: T | undefined): void {
    const now = this.#home.clock.now();
    for (const [old, { until }] of memory) {
      // In the order in which they were added.
      if (until >= now) break;
      memory.delete(old);
    }
    memory.delete(key);
    memory.set(key, { spec, until: now + BELIEVED_MS });
  }
}
