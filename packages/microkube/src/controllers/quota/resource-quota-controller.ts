import type { Kind, KubeObject } from "@fjord/base";
import {
  byNamespace,
  Cache,
  Discovery,
  PersistentVolumeClaim,
  Pod,
  type Request,
  ResourceQuota,
  type Result,
  requestFor,
  Service,
  watches,
} from "@fjord/kube";
import { quotaEvaluator } from "../../admission/quota/quota-evaluator.ts";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { ownershipOnly, resourceId } from "../garbage-collector/watched-kinds.ts";
import { again, Loop } from "../loop.ts";
import { writeStatus } from "../status-writer.ts";
import { type Counted, quotaUsage } from "./quota-usage.ts";

/** Changes of many objects are counted together. */
const TOGETHER_MS = 50;
/** Usage is counted anew now and then, whatever was missed. */
const ANEW_MS = 5 * 60_000;

/** Counts what each namespace with a quota uses. */
export const resourceQuotaController: ControlLoop = (means) => {
  const loop = new Loop(means, "resourcequota-controller");
  const quotas = loop.open(ResourceQuota, { namespace: byNamespace });
  const counter = new QuotaCounter(means, loop, quotas);
  for (const kind of [Pod, Service, PersistentVolumeClaim] as Kind[])
    counter.count(kind, loop.open(kind, { namespace: byNamespace }));
  return loop
    .meanwhile((stop) => counter.run(stop))
    .reconciles({
      sources: [watches(quotas)],
      reconcile: (request, { signal }) => counter.reconcile(request, signal),
    });
};

class QuotaCounter {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #quotas: Cache<ResourceQuota>;
  readonly #discovery: Discovery;
  readonly #counted = new Map<string, Cache<KubeObject>>();
  readonly #ended = Promise.withResolvers<AbortSignal>();

  constructor(means: ControlMeans, loop: Loop, quotas: Cache<ResourceQuota>) {
    this.#means = means;
    this.#loop = loop;
    this.#quotas = quotas;
    this.#discovery = new Discovery(means.client, means);
  }

  /** Until `stop`, kinds that some quota names are followed. */
  async run(stop: AbortSignal): Promise<void> {
    this.#ended.resolve(stop);
    await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Has the quotas of a namespace counted anew when something of this kind changes there. */
  count(kind: Kind, cache: Cache<KubeObject>): void {
    this.#counted.set(resourceId(kind), cache);
    const touch = (object: KubeObject) => this.#touch(object);
    this.#loop.hears(cache, { onAdd: touch, onUpdate: (_, object) => touch(object), onDelete: touch });
  }

  #touch({ metadata }: KubeObject): void {
    for (const quota of this.#quotas.byIndex("namespace", metadata.namespace ?? "")) {
      this.#loop.enqueue(requestFor(quota), TOGETHER_MS);
    }
  }

  async reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const quota = this.#quotas.get(request);
    if (quota === undefined) return { type: "done" };
    const hard = quota.spec?.hard ?? {};
    await this.#follow(Object.keys(hard), signal);
    const counted: Counted[] = [];
    for (const [id, cache] of this.#counted) {
      const [plural = "", ...group] = id.split(".");
      const evaluator = quotaEvaluator({ plural, group: group.join(".") });
      if (evaluator === undefined || evaluator.counts(Object.keys(hard)).length === 0) continue;
      counted.push({ evaluator, objects: cache.byIndex("namespace", request.namespace ?? "") });
    }
    const used = quotaUsage(quota, counted, this.#means.clock.now());
    await writeStatus(this.#means.client, ResourceQuota, quota, { status: { ...quota.status, hard, used } }, signal);
    return again(ANEW_MS);
  }

  /** Other kinds than pods, services and claims are watched only when a quota names them, and only to be counted. */
  async #follow(names: readonly string[], signal: AbortSignal): Promise<void> {
    for (const name of names) {
      const id = /^count\/(.+)$/.exec(name)?.[1] ?? (bare.has(name) ? name : undefined);
      if (id === undefined || this.#counted.has(id)) continue;
      const [plural = "", ...group] = id.split(".");
      const { resources } = await this.#discovery.surface();
      const found = resources.find(({ kind }) => kind.plural === plural && kind.group === group.join("."));
      if (found === undefined || !found.kind.namespaced) continue;
      const stop = await this.#ended.promise;
      const indexers = { namespace: byNamespace };
      const cache = new Cache({ ...this.#means, kind: found.kind, transform: ownershipOnly, indexers });
      this.#counted.set(id, cache);
      const touch = (object: KubeObject) => this.#touch(object);
      cache.addHandler({ onAdd: touch, onDelete: touch });
      void cache.run(stop);
      await cache.waitForSync(signal);
    }
  }
}

/** Kinds that could be limited by their bare names before all could be counted. */
const bare = new Set(["configmaps", "secrets", "replicationcontrollers", "resourcequotas"]);
