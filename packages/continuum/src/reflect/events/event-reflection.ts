import { describeError, type KubeObject } from "@fjord/base";
import { CoreEvent } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import type { Policies } from "../engine/policies.ts";
import { mayHaveTwin } from "../engine/policy.ts";
import type { ReflectionCounters } from "../engine/reflection-counters.ts";
import type { SiteReferences } from "../engine/site-references.ts";
import { EventStream } from "./event-stream.ts";

export interface EventReflectionOptions {
  readonly home: Home;
  readonly twins: Twins;
  readonly sites: RemoteSites;
  readonly pods: OffloadedPods;
  readonly policies: Policies;
  readonly references: SiteReferences;
  readonly counters: ReflectionCounters;
  /** The own object of a kind that has a twin at a site. */
  readonly twinned: (site: SiteId, namespace: string, kind: string, name: string) => KubeObject | undefined;
}

interface Open {
  readonly site: RemoteSite;
  readonly twinNamespace: string;
  readonly stop: AbortController;
  cancelEnd: () => void;
}

/** A namespace whose last pod has gone is listened to for a little longer: what is told of its end comes late. */
const LINGER_MS = 20_000;

/** Opens a stream of events for each twin namespace that has pods. */
export class EventReflection {
  readonly #options: EventReflectionOptions;
  /** By `site/namespace`. */
  readonly #open = new Map<string, Open>();
  readonly #runs = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: EventReflectionOptions) {
    this.#options = options;
  }

  /** Opens or closes the stream of a namespace at a site, whichever is due. */
  look(site: SiteId, namespace: string): void {
    const { twins, sites, references, home } = this.#options;
    const key = `${site}/${namespace}`;
    const remote = sites.get(site);
    const twinNamespace = twins.twinOf(site, namespace);
    let open = this.#open.get(key);
    if (open !== undefined && (open.site !== remote || open.twinNamespace !== twinNamespace)) {
      this.#close(key, open);
      open = undefined;
    }
    const isPossible =
      !this.#stopped && remote !== undefined && twinNamespace !== undefined && this.#isAllowed(namespace);
    const isWanted = isPossible && references.hasPods(site, namespace);
    open?.cancelEnd();
    if (!isPossible && open !== undefined) this.#close(key, open);
    else if (isWanted && open === undefined) this.#begin(key, remote, namespace, twinNamespace);
    else if (!isWanted && open !== undefined) {
      const ending = open;
      ending.cancelEnd = home.clock.after(LINGER_MS, () => this.#close(key, ending));
    }
  }

  lookAll(namespaces: Iterable<string>): void {
    for (const namespace of namespaces)
      for (const site of this.#options.twins.sitesOf(namespace)) this.look(site, namespace);
    for (const key of [...this.#open.keys()]) {
      const slash = key.indexOf("/");
      this.look(key.slice(0, slash), key.slice(slash + 1));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const [key, open] of this.#open) this.#close(key, open);
    await Promise.all(this.#runs);
  }

  #begin(key: string, site: RemoteSite, namespace: string, twinNamespace: string): void {
    const { home, counters } = this.#options;
    const stop = new AbortController();
    const ownOf = (kind: string, name: string) => this.#ownOf(site.id, namespace, kind, name);
    const stream = new EventStream({ home, site, namespace, twinNamespace, counters, ownOf });
    this.#open.set(key, { site, twinNamespace, stop, cancelEnd: () => {} });
    const run = stream
      .run(stop.signal)
      .catch((error: unknown) => home.logger.error("a stream of events has ended", { error: describeError(error) }))
      .finally(() => this.#runs.delete(run));
    this.#runs.add(run);
  }

  #close(key: string, open: Open): void {
    open.cancelEnd();
    open.stop.abort();
    if (this.#open.get(key) === open) this.#open.delete(key);
  }

  #ownOf(site: SiteId, namespace: string, kind: string, name: string): KubeObject | undefined {
    const { policies, twinned } = this.#options;
    const own = kind === "Pod" ? this.#podOf(site, namespace, name) : twinned(site, namespace, kind, name);
    const policy = policies.of(eventKind, namespace);
    return own !== undefined && mayHaveTwin(policy, own, () => false) ? own : undefined;
  }

  #podOf(site: SiteId, namespace: string, name: string): KubeObject | undefined {
    const offloaded = this.#options.pods.get(namespace, name);
    return offloaded?.node.site === site ? { ...offloaded.pod, apiVersion: "v1", kind: "Pod" } : undefined;
  }

  #isAllowed(namespace: string): boolean {
    return this.#options.policies.of(eventKind, namespace) !== "Never";
  }
}

/** Events come home of all pods and objects that do not ask for silence. */
const eventKind = { kind: CoreEvent, policy: "DenyList" } as const;
