import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import type { KubeClient, Node } from "@fjord/kube";
import {
  healthyConditions,
  type NodeFacts,
  type NodeIdentity,
  NodeRegistration,
  notReady,
  type Taint,
} from "../registration/index.ts";
import { PREFIX } from "../runtimes/simulated/index.ts";
import type { Spell } from "../runtimes/simulated/node-rule.ts";
import type { PodHost } from "./fleet-pods.ts";

/** What a node of a fleet is like. */
export interface NodePlan {
  readonly name: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly nodeInfo: NodeFacts["nodeInfo"];
  /** Of the kubelet API, where there is one. */
  readonly kubeletPort?: number;
  readonly notReady?: Spell;
  readonly away?: Spell;
}

export interface FleetNodeOptions {
  readonly plan: NodePlan;
  readonly client: Pick<KubeClient, "get" | "create" | "update" | "patch">;
  /** Told when the node is back. */
  readonly onReturn: () => void;
  readonly leaseSeconds?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** On a Node: the simulation makes it not ready, or takes it away, while the value is "true". */
export const nodeAnnotations = { notReady: `${PREFIX}not-ready`, away: `${PREFIX}away` } as const;

/** Rare: what changes about a simulated node is said by whoever changes it. */
const COMPARE_MS = 60_000;

/** One node of a fleet: its Node, its lease, and whether it is well. */
export class FleetNode implements PodHost {
  readonly #options: FleetNodeOptions;
  readonly #registered = Promise.withResolvers<void>();
  readonly #conditions = healthyConditions();
  #registration: NodeRegistration | undefined;
  #run: AbortController | undefined;
  /** By rule, and by annotation. */
  readonly #ill = { spell: false, annotation: false };
  readonly #gone = { spell: false, annotation: false };

  constructor(options: FleetNodeOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.plan.name;
  }

  get address(): string {
    return this.#options.plan.address;
  }

  get plan(): NodePlan {
    return this.#options.plan;
  }

  get isAway(): boolean {
    return this.#gone.spell || this.#gone.annotation;
  }

  get isReady(): boolean {
    return !this.#ill.spell && !this.#ill.annotation && !this.isAway;
  }

  /** Resolves once the API has the node. */
  get registered(): Promise<void> {
    return this.#registered.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { notReady, away } = this.#options.plan;
    const spells = [
      this.#befall(notReady, signal, (holds) => this.#setIll("spell", holds)),
      this.#befall(away, signal, (holds) => this.#setGone("spell", holds)),
    ];
    while (!signal.aborted) {
      const run = new AbortController();
      this.#run = run;
      const either = AbortSignal.any([signal, run.signal]);
      if (this.isAway) await new Promise<void>((resolve) => either.addEventListener("abort", () => resolve()));
      else await this.#live(either);
    }
    await Promise.all(spells);
  }

  /** What annotations on the Node ask for, and what others say of it. */
  obey(node: Node): void {
    const { annotations = {} } = node.metadata;
    this.#setIll("annotation", annotations[nodeAnnotations.notReady] === "true");
    this.#setGone("annotation", annotations[nodeAnnotations.away] === "true");
    this.#registration?.saw(node);
  }

  async #live(signal: AbortSignal): Promise<void> {
    const { plan, client, leaseSeconds, clock, random, logger } = this.#options;
    const { name, labels, taints } = plan;
    const identity: NodeIdentity = { name, labels, taints };
    const registration = new NodeRegistration({
      client,
      identity,
      facts: () => this.#facts(),
      // One watch for all nodes tells what others do to them.
      observe: false,
      compareMs: COMPARE_MS,
      ...(leaseSeconds !== undefined && { leaseSeconds }),
      clock,
      random,
      logger: quiet(logger),
    });
    this.#registration = registration;
    void registration.registered.then(() => this.#registered.resolve());
    try {
      await registration.run(signal);
    } catch (error) {
      logger.error("a simulated node cannot be kept", { node: name, error: describeError(error) });
      await sleep(clock, 5_000, signal);
    }
    this.#registration = undefined;
  }

  #facts(): NodeFacts {
    const { name, address, capacity, nodeInfo, kubeletPort } = this.#options.plan;
    const conditions = this.isReady
      ? this.#conditions
      : this.#conditions.map((each) => (each.type === "Ready" ? notReady("the simulation says so") : each));
    return {
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      capacity,
      allocatable: capacity,
      conditions,
      nodeInfo,
      ...(kubeletPort !== undefined && { kubeletPort }),
    };
  }

  #setIll(by: "spell" | "annotation", holds: boolean): void {
    if (this.#ill[by] === holds) return;
    this.#ill[by] = holds;
    this.#registration?.changed();
  }

  #setGone(by: "spell" | "annotation", holds: boolean): void {
    if (this.#gone[by] === holds) return;
    const before = this.isAway;
    this.#gone[by] = holds;
    if (before === this.isAway) return;
    this.#run?.abort();
    if (before) this.#options.onReturn();
  }

  async #befall(spell: Spell | undefined, signal: AbortSignal, set: (holds: boolean) => void): Promise<void> {
    if (spell === undefined) return;
    const { clock } = this.#options;
    await sleep(clock, spell.afterMs, signal);
    if (signal.aborted) return;
    set(true);
    await sleep(clock, spell.forMs, signal);
    if (!signal.aborted) set(false);
  }
}

/** A thousand nodes that register are one line, not a thousand. */
function quiet(logger: Logger): Logger {
  return { ...logger, info: (message, fields) => logger.debug(message, fields) };
}
