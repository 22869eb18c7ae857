import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { Cache, EndpointSlice, type KubeClient, Service } from "@fjord/kube";
import { type PlanContext, planServices, type ServicePort } from "./service-plan.ts";

/** Where plans are put into practice: the kernel, or listeners of our own. */
export interface ServiceBackend {
  apply(plan: readonly ServicePort[]): Promise<void>;
  close?(): void;
}

export interface ServiceProxyOptions {
  readonly client: KubeClient;
  readonly backend: ServiceBackend;
  readonly context: PlanContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Changes are put together for this long: a rollout is many of them. */
const GATHER_MS = 20;
const RETRY_MS = 1_000;
const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

/** Follows Services and EndpointSlices, and has the node serve them. */
export class ServiceProxy {
  readonly name = "services";
  readonly services: Cache<Service>;
  readonly slices: Cache<EndpointSlice>;
  readonly #options: ServiceProxyOptions;
  #wake = Promise.withResolvers<void>();

  constructor(options: ServiceProxyOptions) {
    this.#options = options;
    const { client, clock, random, logger } = options;
    const shared = { client, clock, random, logger };
    const labelSelector = "!service.kubernetes.io/service-proxy-name";
    this.services = new Cache({ ...shared, kind: Service, scope: { labelSelector } });
    this.slices = new Cache({ ...shared, kind: EndpointSlice, indexers: { service: bySlicedService } });
  }

  async run(signal: AbortSignal): Promise<void> {
    const changed = () => this.#wake.resolve();
    const handler = { onAdd: changed, onUpdate: changed, onDelete: changed };
    this.services.addHandler(handler);
    this.slices.addHandler(handler);
    signal.addEventListener("abort", changed, { once: true });
    const caches = Promise.all([this.services.run(signal), this.slices.run(signal)]);
    const synced = Promise.all([this.services.waitForSync(signal), this.slices.waitForSync(signal)]);
    synced.then(changed, changed);
    await this.#follow(signal);
    await caches;
    this.#options.backend.close?.();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { backend, clock, context, logger } = this.#options;
    while (!signal.aborted) {
      await this.#wake.promise;
      await sleep(clock, GATHER_MS, signal);
      this.#wake = Promise.withResolvers();
      if (signal.aborted) return;
      // Before both lists are complete, much would seem to be gone.
      if (!this.services.hasSynced || !this.slices.hasSynced) continue;
      try {
        await backend.apply(planServices(this.services.list(), (service) => this.#slicesOf(service), context));
      } catch (error) {
        logger.error("cannot serve Services", { error: describeError(error) });
        await sleep(clock, RETRY_MS, signal);
        this.#wake.resolve();
      }
    }
  }

  #slicesOf({ metadata }: Service): readonly EndpointSlice[] {
    return this.slices.byIndex("service", `${metadata.namespace}/${metadata.name}`);
  }
}

export function bySlicedService({ metadata }: EndpointSlice): readonly string[] {
  const service = metadata.labels?.[SERVICE_NAME_LABEL];
  return service === undefined ? [] : [`${metadata.namespace}/${service}`];
}
