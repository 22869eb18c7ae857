import { Backoff, type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import {
  compareResourceVersions,
  ifNotFound,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeClient,
  Lease,
  Node,
  type WriteOptions,
} from "@fjord/kube";
import { FactsUnknown, NodeNameTaken } from "./errors.ts";
import type { NodeFacts, NodeIdentity, NodeStatus } from "./node-facts.ts";
import { LEASE_NAMESPACE, NodeLease } from "./node-lease.ts";
import {
  forgeNode,
  forgeStatus,
  heartbeatPatch,
  MACHINE_ANNOTATION,
  metadataPatch,
  type NodePatch,
  type SaidStatus,
  statusPatch,
} from "./node-object.ts";

export interface NodeRegistrationOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "update" | "patch">;
  readonly identity: NodeIdentity;
  /**
   * What the node is like now; asked for often, so it should be at hand. Undefined while that is not known: then nothing
   * is said, so that a restart does not make a node that is well look ill for a moment.
   */
  readonly facts: () => NodeFacts | undefined;
  /** How often the facts are compared with what was said last. @default 10000 */
  readonly compareMs?: number;
  /** How often the status is said again although nothing has changed. @default 300000 */
  readonly repeatMs?: number;
  /**
   * Reads the Node before each comparison, to notice what others did to it. Without it, a deletion shows in the lease,
   * and the rest is for whoever watches nodes to tell by `saw`.
   * @default true
   */
  readonly observe?: boolean;
  readonly leaseSeconds?: number;
  readonly leaseRenewMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How often to look for facts that nobody has announced. */
const FACTS_MS = 1_000;

/**
 * Keeps a Node object and its lease: makes it, says at once what changes, gives signs of life, and makes it again when
 * someone deletes it. It knows nothing of machines, so virtual and simulated nodes use it too, by the thousand.
 */
export class NodeRegistration {
  readonly #options: Required<Omit<NodeRegistrationOptions, "leaseSeconds" | "leaseRenewMs">> &
    Pick<NodeRegistrationOptions, "leaseSeconds" | "leaseRenewMs">;
  readonly #lease: NodeLease;
  readonly #registered = Promise.withResolvers<Node>();
  readonly #listeners = new Set<(node: Node) => void>();
  #uid: string | undefined;
  #resourceVersion: string | undefined;
  /** What was written or read last. */
  #status: NodeStatus | undefined;
  #said: SaidStatus | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;
  #lastFacts: NodeFacts | undefined;
  #wake: () => void = () => {};
  #dirty = false;
  #lost = false;
  #failing = false;

  constructor(options: NodeRegistrationOptions) {
    this.#options = { compareMs: 10_000, repeatMs: 300_000, observe: true, ...options };
    const { leaseSeconds, leaseRenewMs } = options;
    this.#lease = new NodeLease({
      ...options,
      nodeName: options.identity.name,
      ...(leaseSeconds !== undefined && { durationSeconds: leaseSeconds }),
      ...(leaseRenewMs !== undefined && { renewMs: leaseRenewMs }),
      owner: () => this.#uid,
      lost: () => {
        this.#lost = true;
        this.changed();
      },
    });
  }

  /** Resolves with the Node as the API has it, once it is registered. */
  get registered(): Promise<Node> {
    return this.#registered.promise;
  }

  /** Told of the Node as the API gave it last, whenever it was read or written: its pod range, taints, labels. */
  onNode(listener: (node: Node) => void): () => void {
    const own = (node: Node) => listener(node);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /**
   * The Node as a watch shows it. Where somebody has said otherwise of its conditions, as controllers do of a node that
   * they have not heard of for long, they are said again at once.
   */
  saw({ metadata, status }: Node): void {
    const facts = this.#options.facts();
    const order = compareResourceVersions(metadata.resourceVersion ?? "", this.#resourceVersion ?? "");
    if (facts === undefined || this.#uid === undefined || (order !== undefined && order <= 0)) return;
    const shown = status?.conditions ?? [];
    const isOther = facts.conditions.some(({ type, status: value }) =>
      shown.some((each) => each.type === type && each.status !== value),
    );
    if (!isOther) return;
    this.#lost = true;
    this.changed();
  }

  /** Some fact is another one now: it is compared, and said, at once. */
  changed(): void {
    this.#dirty = true;
    this.#wake();
  }

  /**
   * Registers and goes on until `signal` aborts, whatever the API does. Throws only where another machine has the name.
   * Stopping drains nothing and says nothing: a restart is no absence.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (this.#options.facts() === undefined && !signal.aborted) await this.#sleep(FACTS_MS, signal);
    if (!signal.aborted) await this.#register(signal);
    if (signal.aborted) return;
    await Promise.all([this.#lease.run(signal), this.#keep(signal)]);
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { clock, random, logger, identity } = this.#options;
    const backoff = new Backoff({ initial: 200, max: 7_000, random });
    while (!signal.aborted) {
      try {
        const node = await this.#findOrCreate(signal);
        this.#registered.resolve(node);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NodeNameTaken) throw error;
        if (backoff.failures === 0)
          logger.warn("cannot register the node yet", { node: identity.name, error: describeError(error) });
        await sleep(clock, backoff.next(), signal);
      }
    }
  }

  async #findOrCreate(signal: AbortSignal): Promise<Node> {
    const { client, identity, clock, logger } = this.#options;
    const key = { name: identity.name };
    let node: Node;
    try {
      node = await client.create(Node, forgeNode(identity, this.#facts(), clock.now()), { signal });
      logger.info("the node is registered", { node: identity.name });
      this.#saidAt = clock.now();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await client.get(Node, key, { signal });
      await this.#refuseOther(found, signal);
      const patch = metadataPatch(identity, found);
      node = patch === undefined ? found : await this.#patch("merge", patch, { signal }, found.metadata.uid);
      logger.info("the node was registered before", { node: identity.name });
      this.#take(node);
      node = await this.#say(signal);
    }
    this.#take(node);
    return node;
  }

  /** A name that another machine has is ours only if that one is gone: its lease tells, by whether it moves. */
  async #refuseOther(node: Node, signal: AbortSignal): Promise<void> {
    const { identity, client, clock, logger, leaseSeconds = 40 } = this.#options;
    this.#refuseStranger(node);
    const other = node.metadata.annotations?.[MACHINE_ANNOTATION] ?? node.status?.nodeInfo?.machineID;
    const own = [identity.machine, this.#facts().nodeInfo.machineID];
    if (identity.machine === undefined || !other || own.includes(other)) return;
    const { name } = identity;
    const renewal = async () => {
      const key = { name, namespace: LEASE_NAMESPACE };
      const lease = await client.get(Lease, key, { signal }).catch(ifNotFound);
      return lease?.spec?.renewTime;
    };
    const before = await renewal();
    if (before === undefined) return;
    logger.warn("the node's name belongs to another machine: waiting to see whether that is alive", { node: name });
    for (const end = clock.now() + leaseSeconds * 1000; clock.now() < end && !signal.aborted; ) {
      await sleep(clock, 1_000, signal);
      if ((await renewal()) !== before) throw new NodeNameTaken({ name, other });
    }
  }

  #refuseStranger(node: Node): void {
    const { identity } = this.#options;
    const { name } = identity;
    if (identity.isOwn?.(node) === false)
      throw new NodeNameTaken({ name, other: node.status?.nodeInfo?.machineID ?? node.metadata.uid });
  }

  /** Compares facts and Node, until the end. */
  async #keep(signal: AbortSignal): Promise<void> {
    const { clock, random, compareMs } = this.#options;
    const backoff = new Backoff({ initial: 200, max: 7_000, random });
    let wait = compareMs * random();
    while (!signal.aborted) {
      if (!this.#dirty) await this.#sleep(wait, signal);
      if (signal.aborted) return;
      this.#dirty = false;
      const done = await this.#compare(signal);
      if (done) backoff.reset();
      wait = done ? compareMs * (0.9 + 0.2 * random()) : backoff.next();
      if (!done) await sleep(clock, wait, signal);
    }
  }

  async #compare(signal: AbortSignal): Promise<boolean> {
    const { logger, identity, clock, compareMs } = this.#options;
    const late = new AbortController();
    const cancel = clock.after(compareMs, () => late.abort(new Error(`no answer within ${compareMs / 1000} s`)));
    const either = AbortSignal.any([signal, late.signal]);
    try {
      if (this.#lost || this.#options.observe) await this.#look(either);
      await this.#sayIfNew(either);
      if (this.#failing) logger.info("the node's status is written again", { node: identity.name });
      this.#failing = false;
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      if (error instanceof NodeNameTaken) throw error;
      // Another one may have the name: whose it is shows when it is looked at.
      if (isOfAnother(error)) this.#lost = true;
      if (!isNotFound(error)) {
        if (!this.#failing)
          logger.warn("cannot write the node's status", { node: identity.name, error: describeError(error) });
        this.#failing = true;
        this.#dirty = true;
        return false;
      }
      logger.warn("the node was deleted: registering it again", { node: identity.name });
      this.#uid = undefined;
      this.#status = undefined;
    } finally {
      cancel();
    }
    await this.#register(signal);
    return true;
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, identity } = this.#options;
    const key = { name: identity.name };
    const node = await client.get(Node, key, { signal });
    this.#refuseStranger(node);
    this.#take(node);
    this.#lost = false;
    const patch = metadataPatch(identity, node);
    if (patch !== undefined) this.#take(await this.#patch("merge", patch, { signal }));
  }

  async #sayIfNew(signal: AbortSignal): Promise<void> {
    const { clock, repeatMs } = this.#options;
    const status = forgeStatus(this.#facts(), this.#status, clock.now());
    const news = statusPatch(this.#status, status, this.#said);
    if (news === undefined && clock.now() - this.#saidAt < repeatMs) return;
    this.#take(await this.#say(signal));
  }

  async #say(signal: AbortSignal): Promise<Node> {
    const { clock, repeatMs, random } = this.#options;
    const status = forgeStatus(this.#facts(), this.#status, clock.now());
    const patch = statusPatch(this.#status, status) ?? heartbeatPatch(status);
    const node = await this.#patch("strategic", patch, { subresource: "status", signal });
    this.#said = { sent: status, got: node.status };
    // Up to a twentieth earlier next time, so that nodes which started together drift apart.
    this.#saidAt = clock.now() - random() * 0.05 * repeatMs;
    return node;
  }

  /** Changes the Node that is known, and none that has its name by now. */
  #patch(
    type: "merge" | "strategic",
    patch: NodePatch,
    options: WriteOptions & { subresource?: string },
    uid = this.#uid,
  ): Promise<Node> {
    const { client, identity } = this.#options;
    const ofIt = { ...patch, metadata: { ...patch.metadata, uid } };
    return client.patch(Node, { name: identity.name }, type, ofIt, options);
  }

  /** The facts of now, or the last ones where nobody knows. */
  #facts(): NodeFacts {
    const facts = this.#options.facts() ?? this.#lastFacts;
    if (facts === undefined) throw new FactsUnknown({ name: this.#options.identity.name });
    this.#lastFacts = facts;
    return facts;
  }

  #take(node: Node): void {
    this.#uid = node.metadata.uid;
    this.#resourceVersion = node.metadata.resourceVersion;
    this.#status = node.status;
    for (const listener of this.#listeners) listener(node);
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const awake = new AbortController();
    this.#wake = () => awake.abort();
    return sleep(this.#options.clock, ms, AbortSignal.any([signal, awake.signal])).finally(() => {
      this.#wake = () => {};
    });
  }
}

/** Whether what was changed is another object than was meant: some servers call that a conflict, others a change of what cannot change. */
function isOfAnother(error: unknown): boolean {
  const isUid = ({ field }: { readonly field?: string }) => field === "metadata.uid";
  return isConflict(error) || (isInvalid(error) && error.details.causes?.some(isUid) === true);
}
