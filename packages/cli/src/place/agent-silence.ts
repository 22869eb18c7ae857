import { AGENT_LEASE, AGENT_NAMESPACE, Site } from "@fjord/api";
import { ApiError, type KubeClient, Lease, setCondition } from "@fjord/kube";
import type { CommandContext } from "../command-line/command-context.ts";

/** A renewal may be on its way, and times are in whole seconds. */
const SLACK_MS = 5_000;

/** When a lease was last written, by the clock of the API server: that of the agent's machine, which says `renewTime`, may be any. */
function renewed({ metadata, spec }: Lease): number {
  const entries = (metadata.managedFields ?? []) as readonly { readonly time?: string }[];
  const written = entries.map(({ time }) => Date.parse(time ?? "") || 0);
  return Math.max(0, ...written) || Date.parse(spec?.renewTime ?? "") || 0;
}

/** What there is to tell of an agent that is not heard, by the lease that it renews; nothing where it is. */
export function silenceOf(lease: Lease, now: number): string | undefined {
  const since = new Date(renewed(lease)).toISOString();
  if (!lease.spec?.holderIdentity) return `the agent of this site has ended at ${since}`;
  const limit = (lease.spec.leaseDurationSeconds ?? 0) * 1_000 + SLACK_MS;
  return now - renewed(lease) > limit ? `the agent of this site has not been heard of since ${since}` : undefined;
}

/** Asks the API. Who may not look at the lease is told nothing, and so is everybody where there is none, as of an agent of before. */
export async function agentSilence(
  client: KubeClient,
  { clock }: Pick<CommandContext, "clock">,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { items: sites } = await client.list(Site, { signal });
    const own = sites.find(({ status }) => status?.role === "Self");
    // In its own namespace alone: whoever may write into another could say of the agent what they like.
    const namespace = own?.status?.agentNamespace ?? AGENT_NAMESPACE;
    const path = `/apis/${Lease.group}/${Lease.version}/namespaces/${namespace}/${Lease.plural}/${AGENT_LEASE}`;
    const { body, headers } = await client.raw("GET", path, { signal });
    const lease = JSON.parse(body.toString("utf8")) as Lease;
    // By the API server's own clock: this machine's may be any.
    const now = Date.parse(String(headers.date ?? "")) || clock.now();
    return silenceOf(lease, now);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** For commands whose wishes the agent fulfils. */
export async function tellOfSilence(client: KubeClient, context: CommandContext): Promise<void> {
  const silence = await agentSilence(client, context, context.signal);
  if (silence !== undefined)
    context.warn(`${silence}: nothing is done until it runs again (docs/troubleshooting.md)\n`);
}

/** The own Site as it is to be shown while its agent is silent. */
export function silenced(site: Site, silence: string | undefined, now: number): Site {
  if (silence === undefined || site.status?.role !== "Self") return site;
  const ready = { type: "Ready", status: "Unknown", reason: "AgentSilent", message: silence } as never;
  return {
    ...site,
    status: { ...site.status, conditions: setCondition(site.status.conditions, ready, now).conditions },
  };
}
