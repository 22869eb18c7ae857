import { AGENT_NAME, defaultValues, installation } from "@fjord/agent";
import {
  AddressPlan,
  CONSUMER_LABEL,
  Contract,
  Export,
  FORCE_REMOVE_ANNOTATION,
  Import,
  Link,
  OFFLOADED_LABEL,
  Offloading,
  OffloadingRule,
  Peering,
  ShadowPod,
  Site,
  TwinNamespace,
  VIRTUAL_NODE,
  VirtualNode,
} from "@fjord/api";
import { type Kind, type KubeObject, sleep, systemClock } from "@fjord/base";
import {
  CertificateSigningRequest,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  ifNotFound,
  isNotFound,
  type KubeClient,
  type ListOptions,
  MutatingWebhookConfiguration,
  Namespace,
  NetworkPolicy,
  Node,
  Pod,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from "@fjord/kube";
import { NotRemoved } from "../errors.ts";

export interface RemoveOptions {
  /** The agent's. */
  readonly namespace: string;
  /** How long the agent has to end what there is, before it ends without it. */
  readonly timeoutMs: number;
  /** How long the cluster has to remove the agent, namespaces and kinds. */
  readonly removalMs: number;
  readonly signal: AbortSignal;
  readonly told: (line: string) => void;
}

type AnyKind = Kind<KubeObject>;

/** What is wished for, in the order in which it ends. */
const WISHES = [Import, Export, OffloadingRule, Offloading, Peering] as unknown as readonly AnyKind[];
/** What is left of Fjord's kinds then. */
const REST = [
  Link,
  AddressPlan,
  ShadowPod,
  TwinNamespace,
  VirtualNode,
  Contract,
  Site,
] as unknown as readonly AnyKind[];
const INSTALLED = [
  Deployment,
  DaemonSet,
  Service,
  NetworkPolicy,
  RoleBinding,
  Role,
  ClusterRoleBinding,
  ClusterRole,
  ServiceAccount,
] as unknown as readonly AnyKind[];
/** With all that an installation may have. */
const WHOLE = { ...defaultValues, gateway: { ...defaultValues.gateway, enabled: true, nodeLabel: "any" } };
const POLL_MS = 300;
/** The most that the agent has to end contracts with consumers. */
const REVOCATION_MS = 10_000;
/** Consumers ask about once a second how their contracts are: this is enough for one that is busy, too. */
const HEARD_MS = 5_000;

/** What would end with Fjord, in words. */
export async function usesOf(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const [peerings, offloadings, contracts] = await Promise.all([
    listed(client, Peering as unknown as AnyKind, signal),
    listed(client, Offloading as unknown as AnyKind, signal),
    listed(client, Contract as unknown as AnyKind, signal),
  ]);
  const live = (contracts as Contract[]).filter(isGiven);
  return [
    ...peerings.map(({ metadata }) => `peering ${metadata.name}`),
    ...offloadings.map(({ metadata }) => `offloaded namespace ${metadata.namespace}`),
    ...live.map(({ metadata }) => `contract ${metadata.name} with a consumer`),
  ];
}

/** Takes away what an installation of before has and this one does not, as gateways that nobody wants any more. */
export async function removeUnasked(
  client: KubeClient,
  namespace: string,
  asked: readonly KubeObject[],
  { signal, told }: Pick<RemoveOptions, "signal" | "told">,
): Promise<void> {
  const isSame = (one: KubeObject, other: KubeObject) =>
    one.kind === other.kind && one.metadata.name === other.metadata.name;
  const unasked = installation(namespace, WHOLE).filter((each) => !asked.some((other) => isSame(each, other)));
  for (const kind of INSTALLED)
    for (const { metadata } of unasked.filter((each) => each.kind === kind.kind)) {
      const found = await client.get(kind, keyOf(metadata), { signal }).catch(ifNotFound);
      if (found === undefined || found.metadata.labels?.["app.kubernetes.io/name"] !== "fjord") continue;
      await remove(client, kind, keyOf(metadata), signal);
      told(`${kind.kind} ${metadata.name} removed`);
    }
}

/** Whether the cluster has anything that would be removed. */
export async function isInstalled(client: KubeClient, namespace: string, signal: AbortSignal): Promise<boolean> {
  if ((await client.get(Namespace, { name: namespace }, { signal }).catch(ifNotFound)) !== undefined) return true;
  const named: readonly [AnyKind, (object: KubeObject) => boolean][] = [
    [CustomResourceDefinition as unknown as AnyKind, isOwnKind],
    [MutatingWebhookConfiguration as unknown as AnyKind, isFjords],
    [ClusterRole as unknown as AnyKind, isFjords],
  ];
  for (const [kind, which] of named) if ((await listed(client, kind, signal)).some(which)) return true;
  return false;
}

/** Ends what the agent has made while it can, then removes the agent, what is left of it, and its kinds. */
export async function removeInstallation(client: KubeClient, options: RemoveOptions): Promise<void> {
  const { namespace, signal, told } = options;
  const webhooks = MutatingWebhookConfiguration as unknown as AnyKind;
  const outside = outsideAddresses((await listed(client, webhooks, signal)).filter(isFjords));
  for (const kind of WISHES) await endAll(client, kind, options);
  await revokeContracts(client, options);
  await endAll(
    client,
    Site as unknown as AnyKind,
    options,
    ({ status }) => (status as Site["status"])?.role !== "Self",
  );
  await removeEach(client, webhooks, signal, isFjords);
  await endAgent(client, options);
  if (outside.length === 0) told("the agent has ended");
  else told(`the agent at ${outside.join(", ")} runs outside of the cluster: end its process`);
  for (const kind of [...WISHES, ...REST]) await release(client, kind, signal);
  await removeEach(
    client,
    Node as unknown as AnyKind,
    signal,
    ({ metadata }) => metadata.labels?.[VIRTUAL_NODE] === "true",
  );
  await removeEach(client, Namespace as unknown as AnyKind, signal, ({ metadata }) => isTenants(metadata));
  await unlabel(client, signal);
  const wanted = installation(namespace, WHOLE);
  for (const kind of INSTALLED) {
    const names = wanted.filter((object) => object.kind === kind.kind).map(({ metadata }) => metadata);
    for (const { name = "" } of names)
      await remove(client, kind, kind.namespaced ? { name, namespace } : { name }, signal);
  }
  await removeEach(
    client,
    ClusterRole as unknown as AnyKind,
    signal,
    ({ metadata }) => metadata.name === "fjord-tenant",
  );
  await remove(client, Namespace as unknown as AnyKind, { name: namespace }, signal);
  const isOwn = ({ metadata }: KubeObject) => metadata.name === namespace || isTenants(metadata);
  await untilGone(client, Namespace as unknown as AnyKind, options, isOwn);
  told(`namespace ${namespace} is gone`);
  // An agent outside of the cluster may have made it again before it saw its namespace go.
  await removeEach(client, webhooks, signal, isFjords);
  await removeEach(client, CustomResourceDefinition as unknown as AnyKind, signal, isOwnKind);
  await untilGone(client, CustomResourceDefinition as unknown as AnyKind, options, isOwnKind);
  told("Fjord's kinds are gone");
  await removeEach(client, CertificateSigningRequest as unknown as AnyKind, signal, isProof);
}

/** In force, and somebody else's to use. */
function isGiven({ status }: Contract): boolean {
  return status?.phase !== "Ended" && status?.side === "Provider";
}

/**
 * Ends what consumers have here while there is an agent that tells them so: whoever asks it later hears only that it does not
 * know them, and has pods that nobody ends.
 */
async function revokeContracts(client: KubeClient, options: RemoveOptions): Promise<void> {
  const { signal, told, timeoutMs } = options;
  const kind = Contract as unknown as AnyKind;
  const left = async () => ((await listed(client, kind, signal)) as Contract[]).filter(isGiven);
  const contracts = await left();
  if (contracts.length === 0) return;
  for (const { metadata } of contracts) {
    told(`ending contract ${metadata.name} with a consumer`);
    const patch = { spec: { standing: "Ended" } };
    await client.patch(kind, keyOf(metadata), "merge", patch, { signal }).catch(ifNotFound);
  }
  if (await gone(left, Math.min(timeoutMs, REVOCATION_MS), signal)) await sleep(systemClock, HEARD_MS, signal);
  else told("no agent has ended them: consumers hear nothing of it, and need `fjord unpeer --force`");
}

/** Its pods too: one that still runs would write again what is removed. Gateways take away on their nodes what they have made there. */
async function endAgent(client: KubeClient, options: RemoveOptions): Promise<void> {
  const { namespace, signal } = options;
  const labelSelector = "app.kubernetes.io/name=fjord,app.kubernetes.io/component in (agent,gateway,follower)";
  await remove(client, Deployment as unknown as AnyKind, { name: AGENT_NAME, namespace }, signal);
  const kind = DaemonSet as unknown as AnyKind;
  for (const { metadata } of await listed(client, kind, signal, { namespace, labelSelector }))
    await remove(client, kind, keyOf(metadata), signal);
  for (const kind of [Deployment, DaemonSet, Pod] as unknown as readonly AnyKind[])
    await untilGone(client, kind, options, () => true, { namespace, labelSelector });
}

/** Waits, and does not go on where it would leave something behind. */
async function untilGone(
  client: KubeClient,
  kind: AnyKind,
  { signal, removalMs }: RemoveOptions,
  which: (object: KubeObject) => boolean,
  scope: ListOptions = {},
): Promise<void> {
  const left = async () => (await listed(client, kind, signal, scope)).filter(which);
  if (await gone(left, removalMs, signal)) return;
  const names = (await left()).map(({ metadata }) => metadata.name);
  throw new NotRemoved({ what: `${kind.kind} ${names.join(", ")}`, seconds: removalMs / 1000 });
}

function isFjords({ metadata }: KubeObject): boolean {
  return metadata.labels?.["app.kubernetes.io/name"] === "fjord";
}

/** Where the API server reaches agents that are no pods: those have no Service, and nobody here can end them. */
function outsideAddresses(configurations: readonly KubeObject[]): string[] {
  const all = configurations as readonly MutatingWebhookConfiguration[];
  const urls = all.flatMap(({ webhooks = [] }) => webhooks.map(({ clientConfig }) => clientConfig.url));
  return [...new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])))];
}

/** By which somebody has said who they are: nobody signs it, and it stays for a day. */
function isProof(object: KubeObject): boolean {
  return (object as CertificateSigningRequest).spec.signerName.startsWith("fjord.dev/");
}

function isOwnKind(object: KubeObject): boolean {
  return (object as CustomResourceDefinition).spec?.group === "fjord.dev";
}

function isTenants({ name = "", labels = {} }: KubeObject["metadata"]): boolean {
  return name.startsWith("fjord-tenant-") || Object.hasOwn(labels, CONSUMER_LABEL);
}

/** Asks the agent to end them, and then does without it. */
async function endAll(
  client: KubeClient,
  kind: AnyKind,
  options: RemoveOptions,
  which: (object: KubeObject & { status?: unknown }) => boolean = () => true,
): Promise<void> {
  const { signal, told } = options;
  const left = async () => (await listed(client, kind, signal)).filter(which);
  const all = await left();
  for (const { metadata } of all) {
    told(`ending ${kind.kind} ${metadata.namespace === undefined ? "" : `${metadata.namespace}/`}${metadata.name}`);
    await remove(client, kind, keyOf(metadata), signal);
  }
  if (all.length === 0 || (await gone(left, options.timeoutMs / 2, signal))) return;
  for (const { metadata } of await left()) {
    const patch = { metadata: { annotations: { [FORCE_REMOVE_ANNOTATION]: "true" } } };
    await client.patch(kind, keyOf(metadata), "merge", patch, { signal }).catch(ifNotFound);
  }
  await gone(left, options.timeoutMs / 2, signal);
}

/** Nobody is there any more to take the finalizers away. */
async function release(client: KubeClient, kind: AnyKind, signal: AbortSignal): Promise<void> {
  for (const { metadata } of await listed(client, kind, signal)) {
    await client
      .patch(kind, keyOf(metadata), "merge", { metadata: { finalizers: null } }, { signal })
      .catch(ifNotFound);
    await remove(client, kind, keyOf(metadata), signal);
  }
}

async function unlabel(client: KubeClient, signal: AbortSignal): Promise<void> {
  const { items } = await client.list(Namespace, { labelSelector: OFFLOADED_LABEL, signal });
  for (const { metadata } of items)
    await client
      .patch(
        Namespace,
        { name: metadata.name ?? "" },
        "merge",
        { metadata: { labels: { [OFFLOADED_LABEL]: null } } },
        { signal },
      )
      .catch(ifNotFound);
}

async function removeEach(
  client: KubeClient,
  kind: AnyKind,
  signal: AbortSignal,
  which: (object: KubeObject) => boolean,
): Promise<void> {
  for (const { metadata } of (await listed(client, kind, signal)).filter(which))
    await remove(client, kind, keyOf(metadata), signal);
}

async function gone(left: () => Promise<KubeObject[]>, withinMs: number, signal: AbortSignal): Promise<boolean> {
  const until = systemClock.now() + withinMs;
  while ((await left()).length > 0) {
    if (systemClock.now() > until) return false;
    await sleep(systemClock, POLL_MS, signal);
    signal.throwIfAborted();
  }
  return true;
}

async function remove(
  client: KubeClient,
  kind: AnyKind,
  key: { name: string; namespace?: string },
  signal: AbortSignal,
): Promise<void> {
  await client.delete(kind, key, { signal }).catch(ifNotFound);
}

/** Objects of a kind; none where the cluster does not know it. */
async function listed(
  client: KubeClient,
  kind: AnyKind,
  signal: AbortSignal,
  scope: ListOptions = {},
): Promise<KubeObject[]> {
  try {
    return (await client.list(kind, { ...scope, signal })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

function keyOf({ name = "", namespace }: KubeObject["metadata"]): { name: string; namespace?: string } {
  return namespace === undefined ? { name } : { name, namespace };
}
