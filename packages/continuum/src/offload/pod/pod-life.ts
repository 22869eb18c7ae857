import { CONSUMER_LABEL, GRACE_ANNOTATION, ShadowPod, VIRTUAL_NODE } from "@fjord/api";
import { describeError, Familiar } from "@fjord/base";
import {
  ApiError,
  againAfter,
  compareResourceVersions,
  done,
  type EventSink,
  ifNotFound,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  Pod,
  type ReconcileContext,
  type Result,
  sameContent,
} from "@fjord/kube";
import { isTerminal, type StatusWriter } from "@fjord/node/pod-status";
import type { Addresses } from "../../addresses.ts";
import type { Home } from "../../home.ts";
import type { RemoteSite } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { KnownVirtualNode } from "../../virtual-nodes.ts";
import { addressesVirtualNodes, isMade, isStrayDaemonPod } from "../admission/index.ts";
import { FORGED_ANNOTATION, type ForgeContext, forgeShadowPod, offloadRefusals, recreateWish } from "./forge/index.ts";
import type { PodMemory } from "./pod-memory.ts";
import { PodReports } from "./pod-reports.ts";
import { PodTokens } from "./pod-tokens.ts";
import type { RemotePods } from "./remote-pods.ts";

/** Where a pod lives away from home. */
export interface Place {
  readonly node: KnownVirtualNode;
  readonly site: RemoteSite;
  readonly remote: RemotePods;
  /** Absent while the namespace has no usable twin there. */
  readonly twin?: string;
  /** Why it has none, where that is known. */
  readonly lack?: string;
}

export interface PodLifeOptions {
  readonly home: Pick<Home, "identity" | "clock" | "logger" | "client"> & { readonly recorder: EventSink };
  readonly writer: StatusWriter;
  readonly homeApi?: ForgeContext["homeApi"];
  readonly addresses?: Addresses;
  /** Whether a site has what the pod expects there when it starts, as Services of its namespace. @default it has */
  readonly isReadyFor?: (pod: Pod, site: SiteId) => boolean;
  /** Whether pods of a namespace may be at other sites at all, by the API's own word. @default they may */
  readonly isOffloaded?: (namespace: string, signal: AbortSignal) => Promise<boolean>;
  /** Whether the contract behind the place has ended, and with it whatever was there. */
  readonly isOver: (place: Place) => boolean;
  /** Told when the deletion of a shadow pod was answered: its pod may be gone by then, and this life knows nothing of it. */
  readonly onShadowDeleted?: (place: Place, shadow: ShadowPod) => void;
}

const STRAY = `pods of DaemonSets run at other sites only where they tolerate ${VIRTUAL_NODE} by that name`;
/** How long a pod waits for its namespace's twin before it says so. */
const TWIN_MS = 3_000;
/** How often a watch is asked whether it stands behind the end of a shadow pod that it has never shown. */
const SHOWN_MS = 1_000;
/** How long a pod is held until its site has what it expects there; and for how long, where that was in vain, no other is held. */
const HELD_MS = 5_000;
const NOT_HELD_MS = 60_000;

/** Its signal is asked for only where there is something to do: most of what is heard of a pod asks for nothing. */
export type Work = Pick<ReconcileContext, "signal">;

/** Brings one pod at a time to the provider, back and to its end. Holds nothing that cannot be found out again. */
export class PodLife {
  readonly #options: PodLifeOptions;
  readonly #memories = new Map<string, PodMemory>();
  readonly #tokens: PodTokens;
  readonly #reports: PodReports;
  /** Pods on one node and in one twin namespace have theirs in common. */
  readonly #contexts = new Familiar<ForgeContext>(64);
  /** By site and namespace: when a pod was held in vain. */
  readonly #heldInVain = new Map<string, number>();

  constructor(options: PodLifeOptions) {
    this.#options = options;
    this.#tokens = new PodTokens(options.home);
    this.#reports = new PodReports(options);
  }

  /** The pod is no more at home. */
  forget(uid: string): void {
    this.#memories.delete(uid);
    this.#tokens.forget(uid);
    this.#reports.forget(uid);
  }

  /** A pod that is to live. */
  async follow(pod: Pod, place: Place, work: Work): Promise<Result> {
    if (isTerminal(pod.status?.phase)) return done();
    if (isStrayDaemonPod(pod) && place.node.object.spec.tainted) {
      // Were it to fail, its DaemonSet would make the next one at once.
      this.#reports.trouble(pod, "NotOffloaded", STRAY);
      return done();
    }
    if (!place.remote.hasSynced || !place.site.reachability.reachable) {
      this.#reports.reach(pod, place);
      return done();
    }
    const { uid = "" } = pod.metadata;
    const memory = this.#memoryOf(uid);
    const shadow = place.remote.shadowOf(uid);
    if (shadow === undefined) return await this.#begin(pod, place, memory, work);
    memory.made = undefined;
    const isForged =
      shadow.metadata.annotations?.[FORGED_ANNOTATION] === this.#wantedDigest(pod, place, shadow, memory);
    this.#reports.report(pod, place, shadow, isForged);
    if (!isForged) await this.#keepForged(pod, shadow, place, memory, work);
    return await this.#keepTokens(pod, shadow, place, work);
  }

  /** A pod that is to end: first the shadow, then the guest, and only then the pod at home. */
  async end(pod: Pod, place: Place, work: Work): Promise<Result> {
    const { uid = "" } = pod.metadata;
    const { remote, site } = place;
    const memory = this.#memoryOf(uid);
    if (this.#options.isOver(place)) return this.#finish(pod, memory);
    if (!remote.hasSynced || !site.reachability.reachable) return done();
    const shadow = remote.shadowOf(uid);
    const guest = remote.guestOf(uid);
    if (shadow !== undefined) {
      memory.made = undefined;
      await this.#endShadow(pod, shadow, guest, memory, place, work);
      // Where the pod went meanwhile, nobody would ever forget what is told of it.
      if (this.#memories.get(uid) === memory) this.#reports.report(pod, place, shadow);
      return done();
    }
    if (memory.made !== undefined && !hasPassed(remote.shadowsVersion, memory.made.resourceVersion)) {
      await deleteShadow(site.kube, memory.made.namespace, pod.metadata.name ?? "", memory.made.uid, work.signal);
      // Of what came and went while nobody watched, nothing is ever shown.
      return againAfter(SHOWN_MS);
    }
    if (guest !== undefined) {
      memory.witnessed = true;
      this.#reports.report(pod, place, undefined);
      return done();
    }
    const { twin } = place;
    const isSure = memory.witnessed || twin === undefined;
    if (!isSure && !(await remote.isGone(uid, twin, pod.metadata.name ?? "", work.signal))) return againAfter(1_000);
    return this.#finish(pod, memory);
  }

  /** Nothing of the pod is left elsewhere. */
  #finish(pod: Pod, memory: PodMemory): Result {
    // The writer tries until it has succeeded.
    if (!memory.finished) this.#reports.finish(pod);
    memory.finished = true;
    return done();
  }

  async #begin(pod: Pod, place: Place, memory: PodMemory, work: Work): Promise<Result> {
    const { twin, remote, site } = place;
    const { name = "" } = pod.metadata;
    const refusals = pod.status?.startTime === undefined ? offloadRefusals(pod, site.report?.guestPrivileges) : [];
    if (refusals.length > 0) {
      // Were it to fail, its ReplicaSet would make the next one at once. A word of the provider's brings it here again.
      this.#reports.trouble(pod, "OffloadingRefused", `it cannot run at another site: ${refusals.join("; ")}`);
      return done();
    }
    if (twin === undefined) return await this.#awaitTwin(pod, place, memory, work);
    if (memory.made !== undefined && !hasPassed(remote.shadowsVersion, memory.made.resourceVersion)) return done();
    if (place.node.object.metadata.deletionTimestamp !== undefined) {
      this.#reports.trouble(pod, "NodeEnding", `node ${place.node.name} is ending, and begins no pods`);
      return done();
    }
    if (pod.status?.startTime !== undefined && recreateWish(pod) === "Never") {
      // It is for good: not on the word of a watch that may be behind.
      if (!(await remote.isGone(pod.metadata.uid ?? "", twin, name, work.signal))) return againAfter(1_000);
      this.#reports.refuse(pod, place, "Lost", "the provider has lost the pod, and it is not to be run twice");
      return done();
    }
    const other = remote.shadowAt(twin, name);
    if (other !== undefined) return await this.#displace(pod, other, place, twin, work);
    const heldMs = this.#heldFor(pod, site.id, memory);
    if (heldMs > 0) return againAfter(heldMs);
    try {
      const made = await site.kube.create(ShadowPod, this.#forge(pod, place, twin, memory), { signal: work.signal });
      this.#remember(memory, made, twin);
      return await this.#keepTokens(pod, made, place, work);
    } catch (error) {
      return await this.#troubled(error, pod, place, twin, memory, work);
    }
  }

  /** Takes back the shadow pod of an earlier pod of this name, whose end brings this one's turn. */
  async #displace(pod: Pod, other: ShadowPod, { site }: Place, twin: string, work: Work): Promise<Result> {
    const { namespace = "", name = "" } = pod.metadata;
    const { client } = this.#options.home;
    const own = await client.get(Pod, { namespace, name }, { signal: work.signal }).catch(ifNotFound);
    // Where the watch at home is behind the one there, it is that of a later pod.
    if (own?.metadata.uid === other.spec.originUid) return againAfter(1_000);
    await deleteShadow(site.kube, twin, name, other.metadata.uid ?? "", work.signal);
    return done();
  }

  async #keepTokens(pod: Pod, shadow: ShadowPod, { site }: Place, work: Work): Promise<Result> {
    try {
      const next = await this.#tokens.keep(pod, shadow, site.kube, work);
      return next === undefined ? done() : againAfter(next);
    } catch (error) {
      if (error instanceof ApiError) this.#reports.tell(pod, "TokenMissing", describeError(error));
      throw error;
    }
  }

  /**
   * For how long the pod is not begun yet: one that starts before the twins of its namespace's Services has no variables of theirs and
   * may not find their names. Twins come at once where they come at all, so that it is short, and what keeps one away holds up few.
   */
  #heldFor(pod: Pod, site: SiteId, memory: PodMemory): number {
    const { isReadyFor, home } = this.#options;
    if (isReadyFor === undefined || pod.status?.startTime !== undefined || isReadyFor(pod, site)) return 0;
    const now = home.clock.now();
    const key = `${site}/${pod.metadata.namespace}`;
    if (now - (this.#heldInVain.get(key) ?? Number.NEGATIVE_INFINITY) < NOT_HELD_MS) return 0;
    this.#heldInVain.delete(key);
    memory.heldSince ??= now;
    const held = now - memory.heldSince;
    if (held < HELD_MS) return Math.min(Math.max(10, held), HELD_MS - held);
    this.#heldInVain.set(key, now);
    return 0;
  }

  /** A twin may be a moment away; of one that does not come, the pod tells. */
  async #awaitTwin(pod: Pod, place: Place, memory: PodMemory, work: Work): Promise<Result> {
    const { home, isOffloaded } = this.#options;
    const { namespace = "" } = pod.metadata;
    const now = home.clock.now();
    memory.awaitedSince ??= now;
    const left = memory.awaitedSince + TWIN_MS - now;
    if (left > 0) return againAfter(left);
    if (isOffloaded === undefined || (await isOffloaded(namespace, work.signal))) {
      const why = place.lack === undefined ? "" : `: ${place.lack}`;
      const message = `namespace ${namespace} has no usable twin at the site behind node ${pod.spec?.nodeName}${why}`;
      this.#reports.trouble(pod, "AwaitingTwin", message);
      return done();
    }
    const message = `namespace ${namespace} is not offloaded, and node ${pod.spec?.nodeName} runs nothing of it`;
    // What let it land here is over, and nobody can take that from the pod: it would wait for good. Where somebody makes it, the
    // next one would come at once, and where nothing let it land here, whoever named the node may offload the namespace yet.
    const isLeft = addressesVirtualNodes(pod.spec?.tolerations ?? []) && !isMade(pod);
    if (isLeft) this.#reports.refuse(pod, place, "NotOffloaded", `${message}: delete the pod and make it again`);
    else this.#reports.trouble(pod, "NotOffloaded", message);
    return done();
  }

  async #troubled(
    error: unknown,
    pod: Pod,
    place: Place,
    twin: string,
    memory: PodMemory,
    work: Work,
  ): Promise<Result> {
    const { uid = "", name = "" } = pod.metadata;
    if (isAlreadyExists(error)) {
      const found = await place.site.kube.get(ShadowPod, { namespace: twin, name }, { signal: work.signal });
      if (found.spec.originUid !== uid) return await this.#displace(pod, found, place, twin, work);
      this.#remember(memory, await this.#labelled(found, place, work), twin);
      return done();
    }
    if (!(error instanceof ApiError)) throw error;
    this.#reports.trouble(pod, "OffloadingRefused", describeError(error));
    throw error;
  }

  /** One whose label somebody there has taken away is shown by no watch of this site's, and nobody would hear of its pod any more. */
  async #labelled(shadow: ShadowPod, { site }: Place, work: Work): Promise<ShadowPod> {
    const { uid, name = "", namespace = "", labels } = shadow.metadata;
    const own = { [CONSUMER_LABEL]: this.#options.home.identity.id };
    if (labels?.[CONSUMER_LABEL] === own[CONSUMER_LABEL]) return shadow;
    const patch = { metadata: { uid, labels: own } };
    return await site.kube.patch(ShadowPod, { namespace, name }, "merge", patch, { signal: work.signal });
  }

  #remember(memory: PodMemory, shadow: ShadowPod, namespace: string): void {
    const { uid = "", resourceVersion = "" } = shadow.metadata;
    memory.made = { uid, resourceVersion, namespace };
  }

  #forge(pod: Pod, place: Place, twinNamespace: string, memory: PodMemory): ShadowPod {
    const context = this.#contextOf(place, twinNamespace);
    const forged = forgeShadowPod(pod, context);
    memory.wanted = {
      digest: forged.metadata.annotations?.[FORGED_ANNOTATION],
      of: { generation: pod.metadata.generation, labels: pod.metadata.labels, annotations: pod.metadata.annotations },
      resourceVersion: pod.metadata.resourceVersion,
      context,
    };
    return forged;
  }

  #contextOf({ node }: Place, twinNamespace: string): ForgeContext {
    const { homeApi, home } = this.#options;
    const { podPatch } = node.object.spec;
    const hostIP = node.object.status?.address;
    const context: ForgeContext = {
      consumer: home.identity.id,
      contract: node.contract,
      twinNamespace,
      ...(hostIP && { hostIP }),
      ...(podPatch && { podPatch }),
      ...(homeApi && { homeApi }),
    };
    return this.#contexts.meet(JSON.stringify(context), context);
  }

  #wantedDigest(pod: Pod, place: Place, shadow: ShadowPod, memory: PodMemory): string | undefined {
    const { namespace: twin = "" } = shadow.metadata;
    const { wanted } = memory;
    const isCurrent =
      wanted !== undefined && sameContent(wanted.context, this.#contextOf(place, twin)) && isUnchanged(pod, wanted);
    if (isCurrent) return wanted.digest;
    return this.#forge(pod, place, twin, memory).metadata.annotations?.[FORGED_ANNOTATION];
  }

  /** What may change of a pod that runs (labels, annotations, images, resources, ephemeral containers) follows. */
  async #keepForged(pod: Pod, shadow: ShadowPod, place: Place, memory: PodMemory, work: Work): Promise<void> {
    const { namespace = "", name = "", uid, resourceVersion } = shadow.metadata;
    if (shadow.metadata.deletionTimestamp !== undefined) return;
    const digest = this.#wantedDigest(pod, place, shadow, memory);
    // The watch has yet to show what was written.
    const { forged } = memory;
    const isWritten = forged !== undefined && forged.digest === digest;
    if (isWritten && !hasPassed(resourceVersion, forged.resourceVersion)) return;
    const wanted = this.#forge(pod, place, namespace, memory);
    const patch = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "add", path: `/metadata/annotations/${FORGED_ANNOTATION.replace("/", "~1")}`, value: digest },
      { op: "replace", path: "/spec/pod", value: wanted.spec.pod },
    ];
    const patched = await place.site.kube.patch(ShadowPod, { namespace, name }, "json", patch, { signal: work.signal });
    memory.forged = { digest, resourceVersion: patched.metadata.resourceVersion ?? "" };
  }

  async #endShadow(
    pod: Pod,
    shadow: ShadowPod,
    guest: Pod | undefined,
    memory: PodMemory,
    place: Place,
    work: Work,
  ): Promise<void> {
    const client = place.site.kube;
    const { namespace = "", name = "", uid = "", annotations, deletionTimestamp } = shadow.metadata;
    if (deletionTimestamp !== undefined || memory.deleted === uid) return;
    const own = pod.spec?.terminationGracePeriodSeconds ?? 30;
    const grace = pod.metadata.deletionGracePeriodSeconds ?? own;
    if (grace !== own && guest !== undefined && guest.metadata.deletionTimestamp === undefined) {
      // The provider ends the guest with that grace as soon as it reads this; deleted at once, the shadow would give it
      // the pod's own.
      if (annotations?.[GRACE_ANNOTATION] === String(grace)) return;
      const patch = { metadata: { uid, annotations: { [GRACE_ANNOTATION]: String(grace) } } };
      await client.patch(ShadowPod, { namespace, name }, "merge", patch, { signal: work.signal });
      return;
    }
    await deleteShadow(client, namespace, name, uid, work.signal);
    memory.deleted = uid;
    this.#options.onShadowDeleted?.(place, shadow);
    await this.#tokens.takeBack(pod, namespace, client, work.signal);
  }

  #memoryOf(uid: string): PodMemory {
    const known = this.#memories.get(uid);
    if (known !== undefined) return known;
    const memory: PodMemory = {};
    this.#memories.set(uid, memory);
    return memory;
  }
}

/** Deletes that very shadow pod; one that is gone, or another of its name, is no error. */
export async function deleteShadow(
  client: KubeClient,
  namespace: string,
  name: string,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(ShadowPod, { namespace, name }, { preconditions: { uid }, signal });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Whether at most the status of the pod has changed since something was forged of it. */
function isUnchanged({ metadata }: Pod, wanted: NonNullable<PodMemory["wanted"]>): boolean {
  const { resourceVersion, generation, labels, annotations } = metadata;
  if (wanted.resourceVersion === resourceVersion) return true;
  const { of } = wanted;
  // Older API servers do not count the generations of pods.
  const isSame =
    (generation ?? 0) > 0 &&
    of.generation === generation &&
    sameContent(of.labels, labels) &&
    sameContent(of.annotations, annotations);
  if (isSame) wanted.resourceVersion = resourceVersion;
  return isSame;
}

/** Whether a watch stands behind a revision: what it does not show then is not there. */
function hasPassed(stand: string | undefined, resourceVersion: string): boolean {
  const order = compareResourceVersions(stand ?? "", resourceVersion);
  return order !== undefined && order > 0;
}
