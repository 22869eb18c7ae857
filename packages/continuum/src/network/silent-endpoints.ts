import { AddressPlan, CONSUMER_LABEL, Link, MANAGED_LABEL } from "@fjord/api";
import { TokenBucket } from "@fjord/base";
import {
  againAfter,
  type Cache,
  type Controller,
  done,
  EndpointSlice,
  isConflict,
  isNotFound,
  RecentMap,
  type Request,
  type Result,
  type Runnable,
  Service,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import {
  SERVICE_LABEL,
  SILENCED_ANNOTATION,
  type SilencedSlice,
  SLICE_KEEPER,
  SLICE_KEEPER_LABEL,
  silenced,
} from "../silenced-endpoints.ts";
import { calledRanges } from "./address-plan.ts";
import { contains, type IpRange } from "./ip-range.ts";
import { onSilence } from "./link-silence.ts";
import { isSaidSilent } from "./link-status.ts";
import { parseAddress } from "./ranges.ts";

/** Who writes a slice anew each time, as it does not know what is meant, is not contradicted more often for long. */
const CONTRADICTIONS = { burst: 5, perSecond: 1 } as const;
const CALM_MS = 1_000;
const MOST_SLICES = 4_096;

/**
 * As provider: takes endpoints behind links that have fallen silent out of the twins of Services, and gives them back when the links answer. The consumer
 * tells what it would be if all could be reached; only this site knows whom it reaches, also while the consumer is away.
 */
export class SilentEndpoints implements Runnable {
  readonly name = "silent endpoints";
  readonly needsLeaderElection = true;
  readonly #home: Home;
  readonly #links: Cache<Link>;
  readonly #plans: Cache<AddressPlan>;
  readonly #slices: Cache<EndpointSlice>;
  readonly #controller: Controller;
  /** By uid. */
  readonly #contradictions = new RecentMap<TokenBucket>(MOST_SLICES);

  constructor(home: Home) {
    this.#home = home;
    this.#links = home.caches.open(Link).cache;
    this.#plans = home.caches.open(AddressPlan).cache;
    const labelSelector = `${CONSUMER_LABEL},${MANAGED_LABEL},${SLICE_KEEPER_LABEL}=${SLICE_KEEPER}`;
    this.#slices = home.caches.open(EndpointSlice, { labelSelector }).cache;
    this.#controller = homeController(home, {
      name: this.name,
      sources: [watches(this.#slices)],
      concurrency: 8,
      backoff: { initial: 50, max: 5_000 },
      reconcile: (request, { signal }) => this.#reconcile(request, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const release = onSilence(this.#links, () => {
      for (const { metadata } of this.#slices.list())
        this.#controller.enqueue({ namespace: metadata.namespace ?? "", name: metadata.name ?? "" });
    });
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      release();
    }
  }

  async #reconcile(request: Request, signal: AbortSignal): Promise<Result> {
    const slice = this.#slices.get(request);
    if (slice === undefined || slice.metadata.deletionTimestamp !== undefined) return done();
    const ranges = this.#silentRanges();
    const after = silenced(slice, (text) => {
      const address = ranges.length === 0 ? undefined : parseAddress(text);
      return address !== undefined && ranges.some((range) => contains(range, address));
    });
    if (after === undefined) return done();
    const { clock } = this.#home;
    const left = this.#contradictions.getOrMake(
      slice.metadata.uid ?? "",
      () => new TokenBucket({ ...CONTRADICTIONS, clock }),
    );
    if (after.note !== undefined && !left.tryTake()) return againAfter(CALM_MS);
    await this.#write(slice, after, signal);
    return done();
  }

  async #write(slice: EndpointSlice, { endpoints, note }: SilencedSlice, signal: AbortSignal): Promise<void> {
    const { name = "", namespace = "", resourceVersion, annotations } = slice.metadata;
    // The consumer may have written meanwhile: then its word is looked at again.
    const metadata = { resourceVersion, annotations: { [SILENCED_ANNOTATION]: note ?? null } };
    const options = { fieldManager: "fjord-links", signal };
    try {
      await this.#home.client.patch(EndpointSlice, { name, namespace }, "merge", { metadata, endpoints }, options);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return;
      throw error;
    }
    if (note !== annotations?.[SILENCED_ANNOTATION]) this.#tell(slice, note);
  }

  #tell({ metadata }: EndpointSlice, note: string | undefined): void {
    const { namespace = "", labels = {} } = metadata;
    const service = {
      apiVersion: "v1",
      kind: Service.kind,
      metadata: { namespace, name: labels[SERVICE_LABEL] ?? "" },
    };
    const count = note === undefined ? 0 : Object.keys(JSON.parse(note) as object).length;
    this.#home.recorder.event(service, {
      type: count > 0 ? "Warning" : "Normal",
      reason: count > 0 ? "LinkSilent" : "LinkAnswers",
      message:
        count > 0
          ? `${count === 1 ? "1 endpoint is" : `${count} endpoints are`} left out, as the link to ${count === 1 ? "its" : "their"} site has fallen silent`
          : "all endpoints can be reached again",
      action: "Linking",
    });
  }

  /** What sites are called here whose links have fallen silent. */
  #silentRanges(): IpRange[] {
    return this.#links.list().flatMap((link) => {
      const plan = isSaidSilent(link) ? this.#plans.get({ name: link.spec.site }) : undefined;
      return plan === undefined ? [] : calledRanges(plan.spec);
    });
  }
}
