import { AGENT_NAME, FOLLOWER_NAME, GATEWAY_NAME, type InstallValues } from "@fjord/agent";
import { AGENT_LEASE } from "@fjord/api";
import { type Clock, type Kind, type KubeObject, steadyNow } from "@fjord/base";
import { DaemonSet, Deployment, type KubeClient, Lease, Pod } from "@fjord/kube";
import { type Progress, waitFor } from "../command-line/wait-for.ts";
import { NotRunning, TimedOut } from "../errors.ts";
import { agentLeads, agentsReady, notReady, onAllNodes } from "./parts-ready.ts";
import { whyNotStarted } from "./why-not-started.ts";

export interface AwaitOptions {
  readonly namespace: string;
  readonly values: Pick<InstallValues, "replicas" | "gateway">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For all of it. */
  readonly timeoutMs: number;
  readonly told: (line: string) => void;
  /** Hears of what is as it was asked for, and yet carries nothing. */
  readonly warned: (line: string) => void;
}

/** What is waited for in its turn. */
interface Part<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly name: string;
  /** Of its pods. */
  readonly component: string;
  /** Completes "... within 120 s". */
  readonly what: string;
  look(found: T | undefined, pods: () => Promise<Pod[]>): Progress | Promise<Progress>;
}

/** How long it may take to find out what has held up the rest. */
const REASON_MS = 5_000;

/** Until the agents run as they were asked for, one of them leads, and gateways are ready where there are to be some. */
export async function awaitInstallation(client: KubeClient, options: AwaitOptions): Promise<void> {
  const { namespace, values, clock, warned } = options;
  const { replicas, gateway } = values;
  const until = steadyNow(clock) + options.timeoutMs;
  const awaits = <T extends KubeObject>(part: Part<T>) => awaitPart(client, part, options, until);
  const component = "agent";
  await awaits({
    kind: Deployment,
    name: AGENT_NAME,
    component,
    what: `the agent in namespace ${namespace} was not ready`,
    look: (found) => agentsReady(found, replicas),
  });
  await awaits({
    kind: Lease,
    name: AGENT_LEASE,
    component,
    what: `no new agent in namespace ${namespace} has begun to lead`,
    look: async (found, pods) => agentLeads(found, await pods()),
  });
  if (!gateway.enabled) return;
  let nodes = 0;
  for (const name of [GATEWAY_NAME, ...(gateway.nodeLabel === "" ? [] : [FOLLOWER_NAME])])
    await awaits({
      kind: DaemonSet,
      name,
      component: name.replace("fjord-", ""),
      what: `DaemonSet ${name} in namespace ${namespace} was not ready`,
      look: (found) => {
        if (name === GATEWAY_NAME) nodes = found?.status?.desiredNumberScheduled ?? 0;
        return onAllNodes(found);
      },
    });
  if (nodes > 0) return;
  const { nodeLabel } = gateway;
  warned(
    nodeLabel === ""
      ? "no node takes a gateway, so none carries links"
      : `no node has the label ${nodeLabel}, so none carries links: \`kubectl label node NODE ${nodeLabel}=\``,
  );
}

async function awaitPart<T extends KubeObject>(
  client: KubeClient,
  { kind, name, component, what, look }: Part<T>,
  { namespace, clock, signal, timeoutMs, told }: AwaitOptions,
  until: number,
): Promise<void> {
  const labelSelector = `app.kubernetes.io/name=fjord,app.kubernetes.io/component=${component}`;
  const podsBy = async (until: AbortSignal) =>
    (await client.list(Pod, { namespace, labelSelector, signal: until })).items;
  let last = "nothing";
  const waiting = {
    signal,
    timeoutMs: Math.max(1, until - steadyNow(clock)),
    what,
    told: (line: string) => {
      last = line;
      told(line);
    },
  };
  const found = async (object: T | undefined, until: AbortSignal): Promise<Progress> => {
    const progress = await look(object, () => podsBy(until));
    const trouble = progress.done ? undefined : whyNotStarted(await podsBy(until));
    return trouble === undefined ? progress : { done: false, progress: trouble };
  };
  try {
    await waitFor(client, kind, { name, namespace }, found, waiting);
  } catch (error) {
    if (!(error instanceof TimedOut)) throw error;
    // It does not change when its pods find that there is no such image. Where the API is away, what was seen last has to do.
    const pods = await podsBy(AbortSignal.any([signal, AbortSignal.timeout(REASON_MS)])).catch(() => []);
    const slow = kind.kind === Lease.kind ? undefined : notReady(pods);
    const reason = whyNotStarted(pods) ?? (slow === undefined ? last : `${last}; ${slow}`);
    // Its cause would say the same once more.
    throw new NotRunning({ what, seconds: timeoutMs / 1000, last: reason });
  }
}
