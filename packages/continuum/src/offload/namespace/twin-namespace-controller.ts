import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL, TENANT_SERVICE_ACCOUNT, TwinNamespace } from "@fjord/api";
import {
  addFinalizer,
  againAfter,
  type Cache,
  Controller,
  done,
  isAlreadyExists,
  isBeingDeleted,
  isNotFound,
  Namespace,
  type ReconcileContext,
  type Request,
  type Result,
  RoleBinding,
  type Runnable,
  removeFinalizer,
  setCondition,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { SiteId } from "../../identity/site-identity.ts";
import type { Tenants } from "../../peering/tenants.ts";

export interface TwinNamespaceControllerOptions {
  readonly home: Home;
  readonly tenants: Tenants;
  /** Labels that the provider's owner gives every twin, such as pod security levels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** ClusterRole that a consumer has in its twins. */
  readonly role: string;
}

const FINALIZER = "fjord.dev/twin-namespace";
const FIELD_MANAGER = "fjord-offload";
const TENANT_PREFIX = "fjord-tenant-";

type Verdict = Pick<
  NonNullable<NonNullable<TwinNamespace["status"]>["conditions"]>[number],
  "status" | "reason" | "message"
>;

/** The provider's answer to TwinNamespaces: makes the namespace, gives the consumer its rights there, and removes it. */
export class TwinNamespaceController implements Runnable {
  readonly name = "twin namespaces";
  readonly needsLeaderElection = true;
  readonly #options: TwinNamespaceControllerOptions;
  readonly #requests: Cache<TwinNamespace>;
  /** Those that are some consumer's. */
  readonly #namespaces: Cache<Namespace>;
  readonly #controller: Controller;

  constructor(options: TwinNamespaceControllerOptions) {
    this.#options = options;
    const { caches, clock, random, logger, metrics } = options.home;
    this.#requests = caches.open(TwinNamespace).cache;
    this.#namespaces = caches.open(Namespace, { labelSelector: CONSUMER_LABEL }).cache;
    this.#controller = new Controller({
      name: "twin-namespaces",
      sources: [watches(this.#requests), watches(this.#namespaces, (namespace) => this.#requestOf(namespace))],
      concurrency: 8,
      reconcile: (request, context) => this.#reconcile(request, context),
      clock,
      random,
      logger,
      ...(metrics && { metrics }),
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    const release = this.#options.tenants.onChange((consumer) => {
      for (const { metadata } of this.#requests.list(TENANT_PREFIX + consumer))
        this.#controller.enqueue({ name: metadata.name ?? "", namespace: metadata.namespace ?? "" });
    });
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      release();
    }
  }

  async #reconcile({ name, namespace = "" }: Request, { signal }: ReconcileContext): Promise<Result> {
    const { client } = this.#options.home;
    const request = this.#requests.get({ name, namespace });
    if (request === undefined) return done();
    const consumer = namespace.startsWith(TENANT_PREFIX) ? namespace.slice(TENANT_PREFIX.length) : undefined;
    if (isBeingDeleted(request)) return this.#remove(request, consumer, signal);
    // Wherever else somebody puts one, it is nobody's request.
    if (consumer === undefined) return done();
    if (this.#options.tenants.get(consumer) === undefined)
      return this.#say(
        request,
        refused("ContractNotActive", "there is no contract in force with this consumer"),
        signal,
      );
    const wanted = request.spec.wantedName;
    if (isKept(wanted))
      return this.#say(request, refused("NameRefused", `${wanted} is a name that this site keeps for itself`), signal);
    await addFinalizer(client, TwinNamespace, request, FINALIZER, { signal });
    const found = await this.#make(wanted, consumer, name, signal);
    if (!isTwin(found, consumer, name))
      return this.#say(
        request,
        refused("NameTaken", `there is a namespace ${wanted} that is not this one's twin`),
        signal,
      );
    if (isBeingDeleted(found)) {
      await this.#say(request, refused("Removing", `an earlier ${wanted} is still being removed`), signal);
      return againAfter(1_000);
    }
    await this.#bind(wanted, consumer, namespace, signal);
    const made = { status: "True", reason: "NamespaceMade", message: "the namespace can be used" } as const;
    return this.#say(request, made, signal, wanted);
  }

  async #make(wanted: string, consumer: SiteId, origin: string, signal: AbortSignal): Promise<Namespace> {
    const { home, labels = {} } = this.#options;
    const known = this.#namespaces.get({ name: wanted });
    if (known !== undefined) return known;
    const object: Namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: wanted, labels: { ...labels, [CONSUMER_LABEL]: consumer, [ORIGIN_NAMESPACE_LABEL]: origin } },
    };
    try {
      return await home.client.create(Namespace, object, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return home.client.get(Namespace, { name: wanted }, { signal });
    }
  }

  async #bind(twin: string, consumer: SiteId, tenant: string, signal: AbortSignal): Promise<void> {
    const { home, role } = this.#options;
    const binding: RoleBinding = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "fjord-tenant", namespace: twin, labels: { [CONSUMER_LABEL]: consumer } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name: TENANT_SERVICE_ACCOUNT, namespace: tenant }],
    };
    await home.client.create(RoleBinding, binding, { signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  async #remove(request: TwinNamespace, consumer: SiteId | undefined, signal: AbortSignal): Promise<Result> {
    const { client } = this.#options.home;
    const { name = "" } = request.metadata;
    const twin = this.#namespaces.get({ name: request.spec.wantedName });
    if (consumer !== undefined && twin !== undefined && isTwin(twin, consumer, name)) {
      if (!isBeingDeleted(twin)) {
        const preconditions = { uid: twin.metadata.uid ?? "" };
        await client
          .delete(Namespace, { name: request.spec.wantedName }, { preconditions, signal })
          .catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
      }
      // Its end comes by the watch of namespaces.
      return this.#say(request, refused("Removing", "the namespace is being removed"), signal, request.spec.wantedName);
    }
    await removeFinalizer(client, TwinNamespace, request, FINALIZER, { signal });
    return done();
  }

  async #say(request: TwinNamespace, verdict: Verdict, signal: AbortSignal, given?: string): Promise<Result> {
    const { home } = this.#options;
    const { name = "", namespace = "", generation } = request.metadata;
    const ready = {
      type: "Ready",
      ...verdict,
      ...(generation !== undefined && { observedGeneration: generation }),
    } as const;
    const { conditions, changed } = setCondition(request.status?.conditions, ready, home.clock.now());
    if (!changed && request.status?.namespace === given) return done();
    await home.client
      .apply(
        TwinNamespace,
        { metadata: { name, namespace }, status: { conditions, ...(given !== undefined && { namespace: given }) } },
        { fieldManager: FIELD_MANAGER, subresource: "status", force: true, signal },
      )
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    return done();
  }

  #requestOf({ metadata }: Namespace): Request[] {
    const { [CONSUMER_LABEL]: consumer, [ORIGIN_NAMESPACE_LABEL]: origin } = metadata.labels ?? {};
    return consumer === undefined || origin === undefined
      ? []
      : [{ name: origin, namespace: TENANT_PREFIX + consumer }];
  }
}

function refused(reason: Verdict["reason"], message: string): Verdict {
  return { status: "False", reason, message };
}

function isTwin({ metadata }: Namespace, consumer: SiteId, origin: string): boolean {
  const labels = metadata.labels ?? {};
  return labels[CONSUMER_LABEL] === consumer && labels[ORIGIN_NAMESPACE_LABEL] === origin;
}

/** Names that mean something to Kubernetes or Fjord. */
function isKept(name: string): boolean {
  return name === "default" || /^(kube|fjord|openshift)-/.test(name);
}
