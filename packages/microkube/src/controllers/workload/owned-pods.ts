import type { Kind, KubeObject } from "@fjord/base";
import { type Cache, type CacheHandler, Pod, type Request, requestFor } from "@fjord/kube";
import type { ControlMeans } from "../control-loop.ts";
import { Expectations } from "../expectations.ts";
import { controllerReferenceOf, orphansOf, refersTo } from "../ownership.ts";
import { slowStart } from "../slow-start.ts";
import { claim } from "./claim.ts";
import { PodControl, type Teller } from "./pod-control.ts";
import { isPodTerminating } from "./pod-state.ts";

export interface OwnedPodsOptions<T extends KubeObject> {
  readonly means: ControlMeans;
  readonly teller: Teller;
  readonly kind: Kind<T>;
  readonly owners: Cache<T>;
  /** With `controllerIndex`. */
  readonly pods: Cache<Pod>;
  readonly selects: (owner: T, pod: Pod) => boolean;
  /** Given to pods that are adopted. */
  readonly finalizers?: readonly string[];
}

/** The pods of each object of a kind, and what was done to them that the cache does not show yet. */
export class OwnedPods<T extends KubeObject> {
  readonly expectations: Expectations;
  readonly #options: OwnedPodsOptions<T>;
  readonly #control: PodControl;

  constructor(options: OwnedPodsOptions<T>) {
    this.expectations = new Expectations(options.means.clock);
    this.#options = options;
    this.#control = new PodControl(options.means.client, options.teller);
  }

  /** Notes what the cache shows of what was done. */
  observer(): CacheHandler<Pod> {
    const gone = (pod: Pod) => {
      const owner = controllerReferenceOf(pod)?.uid;
      if (owner !== undefined) this.expectations.deletionObserved(owner, pod.metadata.uid ?? "");
    };
    const going = (pod: Pod) => {
      if (isPodTerminating(pod)) gone(pod);
    };
    return {
      onAdd: (pod) => {
        const owner = controllerReferenceOf(pod)?.uid;
        if (owner !== undefined) this.expectations.creationObserved(owner);
        going(pod);
      },
      onUpdate: (_, pod) => going(pod),
      onDelete: gone,
    };
  }

  /** Those to look at because of a pod: its controller, or for one without all that might adopt it. */
  *ownersOf(pod: Pod): Iterable<Request> {
    const { kind, owners, selects } = this.#options;
    const reference = controllerReferenceOf(pod);
    const { namespace } = pod.metadata;
    if (reference !== undefined) {
      if (refersTo(reference, kind)) yield { name: reference.name, namespace };
      return;
    }
    for (const owner of owners.list(namespace)) if (selects(owner, pod)) yield requestFor(owner);
  }

  /** All that says it belongs to the owner. */
  of(owner: T): readonly Pod[] {
    return this.#options.pods.byIndex("controller", owner.metadata.uid ?? "");
  }

  /** Adopts and lets go of pods as the owner's selector says, and gives those that it then has. */
  claim(owner: T, signal: AbortSignal, mayHave: (pod: Pod) => boolean = () => true): Promise<Pod[]> {
    const { means, kind, pods, selects, finalizers } = this.#options;
    const orphans = pods.byIndex("controller", orphansOf(owner.metadata.namespace));
    return claim([...this.of(owner), ...orphans].filter(mayHave), {
      client: means.client,
      kind: Pod,
      ownerKind: kind,
      owner,
      matches: (pod) => selects(owner, pod),
      ...(finalizers && { finalizers }),
      signal,
    });
  }

  /** Makes so many pods, few at first, and gives how many there are of them and what went wrong. */
  async create(
    owner: T,
    count: number,
    forge: (index: number) => Pod,
    signal: AbortSignal,
  ): Promise<{ made: number; error: unknown }> {
    const { uid = "" } = owner.metadata;
    this.expectations.expectCreations(uid, count);
    let made = 0;
    const { error } = await slowStart(count, async (index) => {
      if ((await this.#control.create(owner, forge(index), signal)) !== undefined) made++;
    });
    for (let i = made; i < count; i++) this.expectations.creationObserved(uid);
    return { made, error };
  }

  /** Deletes pods, and gives how many of them are gone or going, and what went wrong. */
  async delete(owner: T, pods: readonly Pod[], signal: AbortSignal): Promise<{ gone: number; error: unknown }> {
    if (pods.length === 0) return { gone: 0, error: undefined };
    const { uid = "" } = owner.metadata;
    const uids = pods.map(({ metadata }) => metadata.uid ?? "");
    this.expectations.expectDeletions(uid, uids);
    const results = await Promise.allSettled(pods.map((pod) => this.#control.delete(owner, pod, signal)));
    results.forEach((result, i) => {
      if (result.status === "rejected" || !result.value) this.expectations.deletionObserved(uid, uids[i] ?? "");
    });
    const error = results.find((result) => result.status === "rejected")?.reason;
    return { gone: results.filter(({ status }) => status === "fulfilled").length, error };
  }
}
