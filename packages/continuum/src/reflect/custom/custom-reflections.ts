import type { Kind } from "@fjord/base";
import { Backoff, describeError, type KubeObject, sleep } from "@fjord/base";
import { Discovery, type DynamicObject, type KubeClient } from "@fjord/kube";
import type { Means } from "../../home.ts";
import { type ReflectionRule, resourceOf } from "../../reflection-rules.ts";
import type { ReflectedKind } from "../reflected-kind.ts";
import { customKind } from "./custom-kind.ts";

/** Something that keeps the twins of one custom resource while it runs. */
export interface CustomReflection {
  run(stop: AbortSignal, abandon: AbortSignal): Promise<void>;
}

export interface CustomReflectionsOptions extends Omit<Means, "metrics"> {
  readonly client: KubeClient;
  readonly rules: () => readonly ReflectionRule[];
  readonly outward: (kind: ReflectedKind) => CustomReflection;
  readonly inward: (kind: Kind<DynamicObject>) => CustomReflection;
  /** The reflection of this resource has ended. */
  readonly ended: (resource: string) => void;
}

interface Running {
  readonly direction: NonNullable<ReflectionRule["direction"]>;
  readonly stop: AbortController;
}

/** The custom resources that the operator lists, each reflected from when the own API serves it. */
export class CustomReflections {
  readonly #options: CustomReflectionsOptions;
  readonly #discovery: Discovery;
  readonly #running = new Map<string, Running>();
  readonly #runs = new Set<Promise<void>>();

  constructor(options: CustomReflectionsOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#discovery = new Discovery(options.client, { clock, logger });
  }

  /**
   * Runs what is listed by now. What is listed no more goes on, by the rule that none of it has twins, so that these are
   * taken away; what is listed in another direction begins anew.
   */
  follow(stop: AbortSignal, abandon: AbortSignal): void {
    if (stop.aborted) return;
    for (const rule of this.#options.rules()) {
      const { group, resource, direction = "Outward" } = rule;
      const name = resourceOf({ group, plural: resource });
      const running = this.#running.get(name);
      if (running?.direction === direction) continue;
      running?.stop.abort();
      const own = new AbortController();
      this.#running.set(name, { direction, stop: own });
      const signal = AbortSignal.any([stop, own.signal]);
      const run = this.#run(name, direction, signal, abandon).finally(() => this.#runs.delete(run));
      this.#runs.add(run);
    }
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#runs);
  }

  async #run(name: string, direction: Running["direction"], stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const { clock, random, logger, outward, inward, ended } = this.#options;
    const backoff = new Backoff({ initial: 1_000, max: 30_000, random });
    while (!stop.aborted) {
      try {
        const { kind, subresources } = await this.#discovery.resource(name);
        const reflection =
          direction === "Inward"
            ? inward(kind as Kind<DynamicObject>)
            : outward(
                outwardKind(kind as Kind<DynamicObject>, direction === "Both" && subresources.includes("status")),
              );
        await reflection.run(stop, abandon);
        ended(name);
        return;
      } catch (error) {
        if (stop.aborted) return;
        logger.warn("a custom resource cannot be reflected yet", { resource: name, error: describeError(error) });
        await sleep(clock, backoff.next(), stop);
      }
    }
  }
}

function outwardKind(kind: Kind<DynamicObject>, status: boolean): ReflectedKind {
  return customKind(kind, { status }) as ReflectedKind<KubeObject>;
}
