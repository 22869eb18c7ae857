import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL } from "@fjord/api";
import { type Cache, Namespace, NetworkPolicy, Pod } from "@fjord/kube";
import type { LocalPod } from "@fjord/node/local-clients";
import type { Home } from "../../home.ts";
import { NamespacePods } from "../namespace-pods.ts";
import type { PolicyDirection, PolicyPort } from "../path/policy-hop.ts";
import { MOST_LABELS, type ToldPod } from "./carried-open.ts";
import { type Party, type PolicyRefusal, policyRefusal } from "./carried-policy.ts";

/** The label that Kubernetes gives every namespace. */
const NAME_LABEL = "kubernetes.io/metadata.name";

/** Who is at the ends of what is carried, by the own API and by what the peer tells of its own, and whether policies let them meet. */
export class CarriedParties {
  readonly #policies: Cache<NetworkPolicy>;
  readonly #namespaces: Cache<Namespace>;
  readonly #guests: Cache<Pod>;
  readonly #pods: NamespacePods;

  constructor({ caches }: Pick<Home, "caches">) {
    this.#policies = caches.open(NetworkPolicy).cache;
    this.#namespaces = caches.open(Namespace).cache;
    this.#guests = caches.open(Pod, { labelSelector: CONSUMER_LABEL }).cache;
    this.#pods = new NamespacePods({ caches }, () => {});
  }

  /** Called when a policy has changed. */
  onChange(listener: () => void): () => void {
    return this.#policies.addHandler({ onAdd: listener, onUpdate: listener, onDelete: listener });
  }

  close(): void {
    this.#pods.keepOnly(new Set());
  }

  /** Whether the namespace is another site's twin: then that site knows all of its pods, and this one its guests. */
  isTwin(namespace: string): boolean {
    return this.#labelsOf(namespace)[CONSUMER_LABEL] !== undefined;
  }

  /** What the consumer calls a twin. */
  originOf(namespace: string): string | undefined {
    return this.#labelsOf(namespace)[ORIGIN_NAMESPACE_LABEL];
  }

  async podsIn(namespace: string, signal: AbortSignal): Promise<readonly Pod[]> {
    if (!this.isTwin(namespace)) return await this.#pods.in(namespace, signal);
    return this.#guests.list().filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** Undefined where they may meet. */
  refusal(meeting: {
    readonly namespace: string;
    readonly port: PolicyPort;
    readonly client?: Party;
    readonly server: Party;
    readonly directions: readonly PolicyDirection[];
  }): PolicyRefusal | undefined {
    const policies = this.#policies.list();
    if (policies.length === 0) return undefined;
    const { namespace } = meeting;
    const namespaces = new Map([[namespace, { [NAME_LABEL]: namespace, ...this.#labelsOf(namespace) }]]);
    return policyRefusal({ ...meeting, policies, namespaces });
  }

  #labelsOf(namespace: string): Readonly<Record<string, string>> {
    return this.#namespaces.get({ name: namespace })?.metadata.labels ?? {};
  }
}

/** What the other agent is told of a pod; without more labels than it would take. */
export function toldOf({ metadata }: Pod, address?: string): ToldPod | undefined {
  const { namespace = "", name = "", labels = {} } = metadata;
  if (Object.keys(labels).length > MOST_LABELS) return undefined;
  return { namespace, name, labels, ...(address !== undefined && { address }) };
}

/** A pod that only the other site's API has, as one of a namespace here. */
export function podTold({ name, labels }: ToldPod, namespace: string): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels } } as Pod;
}

export function hasAddress({ spec, status }: Pod, address: string): boolean {
  if (spec?.hostNetwork === true || status?.phase === "Succeeded" || status?.phase === "Failed") return false;
  return status?.podIP === address || (status?.podIPs ?? []).some(({ ip }) => ip === address);
}

export function partyOf(pods: readonly Pod[], local: LocalPod | undefined): Party | undefined {
  const pod = local && pods.find(({ metadata }) => metadata.name === local.name);
  return pod && { address: local.address ?? "", pod };
}
