import { type ConditionOf, OFFLOADING_NAME, Offloading, OffloadingRule, Site } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  type Cache,
  type Controller,
  done,
  generationChanged,
  ifNotFound,
  isAlreadyExists,
  isBeingDeleted,
  isNotFound,
  matchesSelector,
  Namespace,
  type ReconcileContext,
  type Request,
  type Result,
  type Runnable,
  sameContent,
  setCondition,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import { isOtherRules, rulesCondition, rulesOfOwn } from "../../reflection-rules.ts";
import { isMatched, ruleFor } from "./rule-for.ts";
import { forgeOffloading, isMadeFor, madeByRule } from "./rule-offloading.ts";

export interface OffloadingRuleControllerOptions {
  readonly home: Home;
}

type RuleCondition = ConditionOf<typeof OffloadingRule>;

const FIELD_MANAGER = "fjord-offloading-rule";
const COUNTED_AFTER_MS = 200;

/** Gives every namespace that a rule matches its Offloading, and takes it away when no rule does any more. */
export class OffloadingRuleController implements Runnable {
  readonly name = "offloading rules";
  readonly needsLeaderElection = true;
  readonly #options: OffloadingRuleControllerOptions;
  readonly #rules: Cache<OffloadingRule>;
  readonly #namespaces: Cache<Namespace>;
  readonly #offloadings: Cache<Offloading>;
  readonly #sites: Cache<Site>;
  readonly #controller: Controller;
  /** Which rules had something to do with a namespace: their counts change with it. */
  readonly #counted = new Map<string, readonly string[]>();
  /** Why a namespace could not be given its Offloading. */
  readonly #failures = new Map<string, string>();

  constructor(options: OffloadingRuleControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#rules = caches.open(OffloadingRule).cache;
    this.#namespaces = caches.open(Namespace).cache;
    this.#offloadings = caches.open(Offloading).cache;
    this.#sites = caches.open(Site).cache;
    this.#controller = homeController(options.home, {
      name: "offloading-rules",
      // A request with a namespace is about that namespace, one without about the status of a rule.
      sources: [
        watches(this.#rules, {
          map: (rule) => [{ name: rule.metadata.name ?? "" }, ...this.#namespacesOf(rule)],
          when: (change) => change.type !== "update" || generationChanged(change) || isBeingDeleted(change.object),
        }),
        watches(this.#namespaces, {
          map: ({ metadata }) => this.#about(metadata.name ?? ""),
          when: (change) =>
            change.type !== "update" ||
            !sameContent(change.old.metadata.labels, change.object.metadata.labels) ||
            isBeingDeleted(change.object),
        }),
        watches(this.#offloadings, {
          map: ({ metadata }) => this.#about(metadata.namespace ?? ""),
          when: (change) =>
            change.type !== "update" ||
            generationChanged(change) ||
            !sameContent(change.old.metadata.ownerReferences, change.object.metadata.ownerReferences) ||
            !sameContent(change.old.metadata.labels, change.object.metadata.labels),
        }),
        watches(this.#sites, {
          map: () => this.#rules.list().map(({ metadata }) => ({ name: metadata.name ?? "" })),
          when: (change) => change.type === "update" && isOtherRules(change.old, change.object),
        }),
      ],
      concurrency: 8,
      backoff: { initial: 100, max: 30_000 },
      reconcile: (request, context) =>
        request.namespace === undefined
          ? this.#tell(request.name, context)
          : this.#reconcile(request.namespace, context),
    });
  }

  run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  async #reconcile(name: string, { signal }: ReconcileContext): Promise<Result> {
    try {
      await this.#align(name, signal);
      this.#failures.delete(name);
    } catch (error) {
      if (!signal.aborted) this.#failures.set(name, describeError(error));
      throw error;
    } finally {
      this.#tellRules(name);
    }
    return done();
  }

  async #align(name: string, signal: AbortSignal): Promise<void> {
    const { home } = this.#options;
    const namespace = this.#namespaces.get({ name });
    const rule = namespace && ruleFor(namespace, this.#rules.list(), home.namespace);
    const found = this.#offloadings.get({ name: OFFLOADING_NAME, namespace: name });
    if (found === undefined) {
      if (rule !== undefined) await this.#create(forgeOffloading(rule, name), signal);
      return;
    }
    if (isBeingDeleted(found)) return;
    if (madeByRule(found) === undefined) return this.#release(found, signal);
    if (rule !== undefined && isMadeFor(found, rule)) return;
    const isSameTwin = rule !== undefined && sameContent(found.spec.naming, rule.spec.template.naming);
    if (rule !== undefined && isSameTwin) await this.#update(forgeOffloading(rule, name), found, signal);
    else await this.#delete(found, signal);
  }

  async #create(offloading: Offloading, signal: AbortSignal): Promise<void> {
    await this.#options.home.client
      .create(Offloading, offloading, { fieldManager: FIELD_MANAGER, signal })
      .catch((error: unknown) => {
        // Somebody's own is there first, which the watch will show; or the namespace is going.
        if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
      });
  }

  async #update({ metadata, spec }: Offloading, found: Offloading, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion } = found.metadata;
    const kept = { ...metadata, labels: { ...found.metadata.labels, ...metadata.labels } };
    const patch = { metadata: { ...kept, uid, resourceVersion }, spec: replaced(found.spec, spec) };
    const key = { name: OFFLOADING_NAME, namespace: metadata.namespace ?? "" };
    await this.#options.home.client.patch(Offloading, key, "merge", patch, { fieldManager: FIELD_MANAGER, signal });
  }

  /** Somebody has made a rule's Offloading the namespace's own: it is not to go with the rule. */
  async #release({ metadata }: Offloading, signal: AbortSignal): Promise<void> {
    const { namespace = "", uid, resourceVersion, ownerReferences = [] } = metadata;
    const others = ownerReferences.filter(({ kind }) => kind !== OffloadingRule.kind);
    if (others.length === ownerReferences.length) return;
    const patch = { metadata: { uid, resourceVersion, ownerReferences: others } };
    const options = { fieldManager: FIELD_MANAGER, signal };
    await this.#options.home.client.patch(Offloading, { name: OFFLOADING_NAME, namespace }, "merge", patch, options);
  }

  async #delete({ metadata }: Offloading, signal: AbortSignal): Promise<void> {
    const key = { name: OFFLOADING_NAME, namespace: metadata.namespace ?? "" };
    const { uid = "", resourceVersion = "" } = metadata;
    await this.#options.home.client
      .delete(Offloading, key, { preconditions: { uid, resourceVersion }, signal })
      .catch(ifNotFound);
  }

  async #tell(name: string, { signal }: ReconcileContext): Promise<Result> {
    const { home } = this.#options;
    const rule = this.#rules.get({ name });
    if (rule === undefined || isBeingDeleted(rule)) return done();
    const matched = this.#namespaces.list().filter((namespace) => isMatched(namespace, rule, home.namespace));
    const names = matched.map(({ metadata }) => metadata.name ?? "");
    const offloadings = names.map((namespace) => this.#offloadings.get({ name: OFFLOADING_NAME, namespace }));
    const offloaded = offloadings.filter((each) => each !== undefined && madeByRule(each)?.name === name).length;
    const failed = names.filter((each) => this.#failures.has(each));
    const before = rule.status?.conditions;
    const own = rulesOfOwn(this.#sites.list());
    const heeded = rulesCondition("spec.template.reflection", rule.spec.template.reflection, own, before);
    const { generation = 0 } = rule.metadata;
    const ready = { type: "Ready" as const, ...this.#verdict(names.length, failed) };
    const conditions = [ready, ...(heeded ? [heeded] : [])].reduce<RuleCondition[]>(
      (all, each) =>
        setCondition<RuleCondition>(all, { ...each, observedGeneration: generation }, home.clock.now()).conditions,
      before ?? [],
    );
    const status = { matched: names.length, offloaded, conditions };
    if (sameContent(status, rule.status)) return done();
    await home.client
      .apply(OffloadingRule, { metadata: { name }, status } as never, {
        fieldManager: FIELD_MANAGER,
        subresource: "status",
        force: true,
        signal,
      })
      .catch(ifNotFound);
    return done();
  }

  #verdict(matched: number, failed: readonly string[]) {
    if (matched === 0)
      return { status: "False", reason: "NoNamespaceMatches", message: "no namespace matches" } as const;
    const [first] = failed;
    if (first === undefined)
      return { status: "True", reason: "Applied", message: `${matched} namespaces have an Offloading` } as const;
    const more = failed.length > 1 ? `, and ${failed.length - 1} more` : "";
    const message = `${first}: ${this.#failures.get(first)}${more}`.slice(0, 1024);
    return { status: "False", reason: "SomeFailed", message } as const;
  }

  /** Counts are told together: many namespaces come at once. */
  #tellRules(namespace: string): void {
    const maker = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    const object = this.#namespaces.get({ name: namespace });
    const counted = this.#counted.get(namespace) ?? [];
    const matching = this.#rules
      .list()
      .filter((rule) => object !== undefined && isMatched(object, rule, this.#options.home.namespace))
      .map(({ metadata }) => metadata.name ?? "");
    const now = [...new Set([...matching, ...((maker && [madeByRule(maker)?.name ?? ""]) ?? [])])];
    if (object === undefined) this.#counted.delete(namespace);
    else this.#counted.set(namespace, now);
    for (const name of new Set([...counted, ...now])) this.#controller.enqueue({ name }, COUNTED_AFTER_MS);
  }

  #about(namespace: string): Request[] {
    return [{ name: OFFLOADING_NAME, namespace }];
  }

  /** Those that the rule matches, and those that follow it now. */
  #namespacesOf(rule: OffloadingRule): Request[] {
    const { name = "" } = rule.metadata;
    const matched = this.#namespaces
      .list()
      .filter(({ metadata }) => matchesSelector(rule.spec.namespaceSelector, metadata.labels))
      .map(({ metadata }) => metadata.name ?? "");
    const made = this.#offloadings
      .list()
      .filter((each) => madeByRule(each)?.name === name)
      .map(({ metadata }) => metadata.namespace ?? "");
    return [...new Set([...matched, ...made])].flatMap((each) => this.#about(each));
  }
}

/** A merge patch that leaves nothing of the spec before. */
function replaced(before: object, after: object): Record<string, unknown> {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const nested = Object.entries(after).map(([key, value]): [string, unknown] => {
    const was = (before as Record<string, unknown>)[key];
    const both = isMap(value) && isMap(was);
    return [key, both ? replaced(was, value) : value];
  });
  return Object.fromEntries([...gone.map((key): [string, unknown] => [key, null]), ...nested]);
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
