import { CONSUMER_LABEL, Site, TENANT_SERVICE_ACCOUNT } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  type Cache,
  ClusterRole,
  type Controller,
  done,
  generationChanged,
  isBeingDeleted,
  type MapFunction,
  Namespace,
  type Request,
  type Result,
  Role,
  RoleBinding,
  type Runnable,
  type Watch,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { LiveContracts } from "../../live-contracts.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Tenant, Tenants } from "../../tenants.ts";
import { consumerOf, hasRights, TENANT_CLUSTER_ROLE, TENANT_LABEL, tenantOf } from "./tenant-forge.ts";
import { makeClusterRole, makeTenant, removeTenant } from "./tenant-objects.ts";

export interface TenantControllerOptions {
  readonly home: Home;
  readonly contracts: LiveContracts;
  /** Resolves when the contracts are known: before that nobody may be taken for one without. */
  contractsKnown(): Promise<void>;
  ownSite(): Site | undefined;
}

/** Gives each consumer with a contract in force its tenant, and takes everything away when the last has ended. */
export class TenantController implements Tenants, Runnable {
  readonly name = "tenants";
  readonly needsLeaderElection = true;
  readonly #options: TenantControllerOptions;
  readonly #controller: Controller;
  /** Consumers whose objects are known to exist, with the uid of their namespace. */
  readonly #made = new Map<SiteId, string>();
  /** Those of them of whose rights somebody has taken something away. */
  readonly #deprived = new Set<SiteId>();
  /** Making and removing what one consumer has take turns: they would undo each other's work halfway. */
  readonly #turns = new Map<SiteId, Promise<void>>();
  readonly #listeners = new Set<(consumer: SiteId) => void>();
  readonly #namespaces: readonly Cache<Namespace>[];
  #clusterRole: { readonly wanted: string; readonly made: Promise<void> } | undefined;

  constructor(options: TenantControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    const tenants = caches.open(Namespace, { labelSelector: TENANT_LABEL }).cache;
    const twinNamespaces = caches.open(Namespace, { labelSelector: CONSUMER_LABEL }).cache;
    this.#namespaces = [tenants, twinNamespaces];
    tenants.addIndex(BY_CONSUMER, ({ metadata }) => oneOrNone(metadata.labels?.[TENANT_LABEL]));
    twinNamespaces.addIndex(BY_CONSUMER, ({ metadata }) => oneOrNone(metadata.labels?.[CONSUMER_LABEL]));
    tenants.addHandler({
      onUpdate: (_, namespace) => {
        if (isBeingDeleted(namespace)) this.#lost(namespace);
      },
      onDelete: (namespace) => this.#lost(namespace),
    });
    const role = caches.open(ClusterRole, { fieldSelector: `metadata.name=${TENANT_CLUSTER_ROLE}` }).cache;
    role.addHandler({
      onDelete: () => {
        this.#clusterRole = undefined;
      },
    });
    const named = { fieldSelector: `metadata.name=${TENANT_SERVICE_ACCOUNT}` };
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [
        this.#keepRights(caches.open(Role, named).cache),
        this.#keepRights(caches.open(RoleBinding, named).cache),
        watches(tenants, labelled(TENANT_LABEL)),
        watches(twinNamespaces, labelled(CONSUMER_LABEL)),
        watches(caches.open(Site).cache, { map: () => this.#known(), when: generationChanged }),
        // Without it no tenant may do anything, and nobody else would make it again.
        watches(role, { map: () => this.#known(), when: ({ type }) => type === "delete" }),
      ],
      concurrency: 4,
      backoff: { initial: 50, max: 5_000 },
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
    });
  }

  get(consumer: SiteId): Tenant | undefined {
    if (!this.#made.has(consumer) || this.#options.contracts.of(consumer).length === 0) return undefined;
    return tenantOf(consumer);
  }

  onChange(listener: (consumer: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when the tenant's objects exist, and makes them if need be. */
  async ensure(consumer: SiteId, signal?: AbortSignal): Promise<void> {
    if (this.#isMade(consumer)) return;
    await this.#turn(consumer, async () => {
      if (!this.#isMade(consumer)) await this.#make(consumer, signal);
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const unsubscribe = this.#options.contracts.onChange((consumer) => {
      this.#tell(consumer);
      this.#controller.enqueue({ name: consumer });
    });
    try {
      // So that the first consumer need not wait for it.
      void this.#ensureClusterRole().catch((error: unknown) => {
        this.#options.home.logger.warn("cannot write the role of tenants yet", { error: describeError(error) });
      });
      await this.#controller.run(stop, abandon);
    } finally {
      unsubscribe();
    }
  }

  #turn(consumer: SiteId, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(consumer) ?? Promise.resolve();
    const turn = before.then(work, work).finally(() => {
      if (this.#turns.get(consumer) === turn) this.#turns.delete(consumer);
    });
    this.#turns.set(consumer, turn);
    return turn;
  }

  async #make(consumer: SiteId, signal?: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    const wasDeprived = this.#deprived.delete(consumer);
    try {
      const [uid] = await Promise.all([makeTenant(client, consumer, signal), this.#ensureClusterRole()]);
      this.#made.set(consumer, uid);
    } catch (error) {
      if (wasDeprived) this.#deprived.add(consumer);
      throw error;
    }
    this.#tell(consumer);
  }

  #isMade(consumer: SiteId): boolean {
    return this.#made.has(consumer) && !this.#deprived.has(consumer);
  }

  /** One role for all tenants: written when this process begins, when its owner lists other custom resources, and when it was deleted. */
  #ensureClusterRole(): Promise<void> {
    const reflection = this.#options.ownSite()?.spec.reflection;
    const wanted = JSON.stringify(reflection ?? []);
    if (this.#clusterRole?.wanted === wanted) return this.#clusterRole.made;
    const { client, logger } = this.#options.home;
    const made = makeClusterRole(client, reflection, logger).catch((error: unknown) => {
      this.#clusterRole = undefined;
      throw error;
    });
    this.#clusterRole = { wanted, made };
    return made;
  }

  async #reconcile(consumer: SiteId, signal: AbortSignal): Promise<Result> {
    const { home, contracts, contractsKnown } = this.#options;
    await contractsKnown();
    if (contracts.of(consumer).length > 0) {
      await this.#ensureClusterRole();
      await this.ensure(consumer, signal);
      return done();
    }
    // Shadow pods are in twin namespaces: where there are none, and no tenant, nothing is left. What was made a moment
    // ago, and is not known here yet, brings the consumer back into the queue when it is.
    this.#made.delete(consumer);
    this.#deprived.delete(consumer);
    this.#tell(consumer);
    if (this.#namespaces.every((cache) => cache.byIndex(BY_CONSUMER, consumer).length === 0)) return done();
    await this.#turn(consumer, async () => {
      const isGone = () => contracts.of(consumer).length === 0;
      if (!isGone()) return;
      this.#made.delete(consumer);
      await removeTenant(home.client, consumer, isGone, signal);
    });
    // One that has come back meanwhile has brought itself into the queue again.
    return done();
  }

  /** A namespace goes; one of the same name may have been made in its place before that was heard. */
  #lost({ metadata }: Namespace): void {
    const consumer = metadata.labels?.[TENANT_LABEL] ?? "";
    if (this.#made.get(consumer) === metadata.uid) this.#made.delete(consumer);
  }

  /** What a consumer may ask for in its own namespace: nobody else would give it that again. */
  #keepRights<T extends Role | RoleBinding>(cache: Cache<T>): Watch {
    const lost = (object: T) => {
      const consumer = consumerOf(object);
      if (consumer !== undefined && this.#made.has(consumer)) this.#deprived.add(consumer);
    };
    cache.addHandler({
      onUpdate: (_, object) => {
        if (!hasRights(object)) lost(object);
      },
      onDelete: lost,
    });
    const map = (object: T) => oneOrNone(consumerOf(object)).map((name) => ({ name }));
    return watches(cache, { map, when: ({ type }) => type !== "add" });
  }

  /** What the owner says of custom resources is in one role for all. */
  #known(): Request[] {
    return Array.from(this.#made.keys(), (name) => ({ name }));
  }

  #tell(consumer: SiteId): void {
    for (const listener of this.#listeners) listener(consumer);
  }
}

const BY_CONSUMER = "fjord-consumer";

function oneOrNone(label: string | undefined): readonly string[] {
  return label === undefined ? [] : [label];
}

function labelled(label: string): MapFunction<Namespace> {
  return ({ metadata }) => {
    const consumer = metadata.labels?.[label];
    return consumer === undefined ? [] : [{ name: consumer }];
  };
}
