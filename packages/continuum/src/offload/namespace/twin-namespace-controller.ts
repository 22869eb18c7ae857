import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL, TwinNamespace, tenantNamespace } from "@fjord/api";
import {
  addFinalizer,
  againAfter,
  type Cache,
  type Controller,
  done,
  ifNotFound,
  isAlreadyExists,
  isBeingDeleted,
  isInvalid,
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
import { homeController } from "../../home-controller.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Tenants } from "../../tenants.ts";
import { forgeBinding, forgeTwin, gives, isTwin, nameRefusal, TENANT_BINDING } from "./twin-forge.ts";

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
const TENANT_PREFIX = tenantNamespace("");
/** Somebody may give a name up that is not watched here. */
const TAKEN_MS = 30_000;

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
  /** Those that are some consumer's, and the roles that consumers have there. */
  readonly #namespaces: Cache<Namespace>;
  readonly #bindings: Cache<RoleBinding>;
  readonly #controller: Controller;

  constructor(options: TwinNamespaceControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#requests = caches.open(TwinNamespace).cache;
    this.#namespaces = caches.open(Namespace, { labelSelector: CONSUMER_LABEL }).cache;
    this.#bindings = caches.open(RoleBinding, { labelSelector: CONSUMER_LABEL }).cache;
    this.#controller = homeController(options.home, {
      name: "twin-namespaces",
      sources: [
        watches(this.#requests),
        watches(this.#namespaces, requestsOf),
        watches(this.#bindings, { map: requestsOf, when: ({ type }) => type !== "add" }),
      ],
      concurrency: 8,
      backoff: { initial: 50, max: 30_000 },
      reconcile: (request, context) => this.#reconcile(request, context),
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    const release = this.#options.tenants.onChange((consumer) => {
      for (const { metadata } of this.#requests.list(tenantNamespace(consumer)))
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
    if (this.#options.tenants.get(consumer) === undefined) {
      const message = "there is no contract in force with this consumer";
      return this.#say(request, refused("ContractNotActive", message), signal);
    }
    const wanted = request.spec.wantedName;
    const refusal = nameRefusal(wanted, consumer, this.#options.home.namespace);
    if (refusal !== undefined) return this.#say(request, refused("NameRefused", refusal), signal);
    await addFinalizer(client, TwinNamespace, request, FINALIZER, { signal });
    const found = await this.#make(wanted, consumer, name, signal);
    if (!isTwin(found, consumer, name)) {
      await this.#say(request, refused("NameTaken", `${wanted} is the name of another namespace`), signal);
      return againAfter(TAKEN_MS);
    }
    if (isBeingDeleted(found)) {
      await this.#say(request, refused("Removing", `an earlier ${wanted} is still being removed`), signal);
      return againAfter(1_000);
    }
    await this.#bind(wanted, consumer, name, signal);
    const made = { status: "True", reason: "NamespaceMade", message: "the namespace can be used" } as const;
    return this.#say(request, made, signal, wanted);
  }

  async #make(wanted: string, consumer: SiteId, origin: string, signal: AbortSignal): Promise<Namespace> {
    const { home, labels = {} } = this.#options;
    const known = this.#namespaces.get({ name: wanted });
    if (known !== undefined) return known;
    try {
      return await home.client.create(Namespace, forgeTwin(wanted, consumer, origin, labels), { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return home.client.get(Namespace, { name: wanted }, { signal });
    }
  }

  /** Gives the consumer its role there, again where somebody has taken it away or changed it. */
  async #bind(twin: string, consumer: SiteId, origin: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    const wanted = forgeBinding(twin, consumer, origin, this.#options.role);
    const key = { name: TENANT_BINDING, namespace: twin };
    const known = this.#bindings.get(key);
    if (known !== undefined && gives(known, wanted)) return;
    try {
      await client.apply(RoleBinding, wanted, { fieldManager: FIELD_MANAGER, force: true, signal });
    } catch (error) {
      // Its role cannot be changed, only made again.
      if (!isInvalid(error)) throw error;
      await client.delete(RoleBinding, key, { signal }).catch(ifNotFound);
      await client.create(RoleBinding, wanted, { signal });
    }
  }

  async #remove(request: TwinNamespace, consumer: SiteId | undefined, signal: AbortSignal): Promise<Result> {
    const { client } = this.#options.home;
    const { name = "" } = request.metadata;
    const { wantedName } = request.spec;
    const twin = consumer && (await this.#find(wantedName, signal));
    if (consumer && twin && isTwin(twin, consumer, name)) {
      const preconditions = { uid: twin.metadata.uid ?? "" };
      if (!isBeingDeleted(twin))
        await client.delete(Namespace, { name: wantedName }, { preconditions, signal }).catch(ifNotFound);
      // Its end comes by the watch of namespaces.
      return this.#say(request, refused("Removing", "the namespace is being removed"), signal, wantedName);
    }
    await removeFinalizer(client, TwinNamespace, request, FINALIZER, { signal });
    return done();
  }

  /** One that was made a moment ago may not be shown by the watch yet. */
  async #find(name: string, signal: AbortSignal): Promise<Namespace | undefined> {
    const known = this.#namespaces.get({ name });
    if (known !== undefined) return known;
    try {
      return await this.#options.home.client.get(Namespace, { name }, { signal });
    } catch (error) {
      ifNotFound(error);
      return undefined;
    }
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
      .catch(ifNotFound);
    return done();
  }
}

/** By whose labels a namespace or a role belongs to. */
function requestsOf({ metadata }: Namespace | RoleBinding): Request[] {
  const { [CONSUMER_LABEL]: consumer, [ORIGIN_NAMESPACE_LABEL]: origin } = metadata.labels ?? {};
  return consumer === undefined || origin === undefined ? [] : [{ name: origin, namespace: tenantNamespace(consumer) }];
}

function refused(reason: Verdict["reason"], message: string): Verdict {
  return { status: "False", reason, message };
}
