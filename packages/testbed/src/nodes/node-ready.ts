import { NotReadyError } from "../errors.ts";
import type { Site } from "../site.ts";
import { type WaitOptions, waitFor } from "../wait.ts";

/** What the API server knows of a node's readiness. */
export interface ReadyCondition {
  readonly type: string;
  readonly status: string;
  readonly message: string;
  readonly lastHeartbeatTime: string;
}

/** A node's condition Ready, or why there is none to see. */
export async function readyCondition(site: Site, node: string): Promise<ReadyCondition | string> {
  const { status, text } = await site.get(`/api/v1/nodes/${node}`);
  if (status !== 200) return text.slice(0, 200);
  const conditions = (JSON.parse(text) as { status?: { conditions?: ReadyCondition[] } }).status?.conditions ?? [];
  return conditions.find(({ type }) => type === "Ready") ?? "no condition Ready";
}

/** Waits until nodes are Ready in reports from `since` on: an older one is of the time before they were restarted. */
export async function nodesReadySince(
  site: Site,
  nodes: readonly string[],
  since: number,
  options: WaitOptions,
): Promise<void> {
  await Promise.all(
    nodes.map(async (node) => {
      let last = "nothing";
      const ready = await waitFor(
        async () => {
          const condition = await readyCondition(site, node);
          last = typeof condition === "string" ? condition : condition.message;
          if (typeof condition === "string" || condition.status !== "True") return false;
          // Reports have whole seconds.
          return Date.parse(condition.lastHeartbeatTime) >= Math.floor(since / 1000) * 1000;
        },
        { interval: 200, ...options },
      );
      const seconds = Math.round(options.timeout / 1000);
      if (!ready) throw new NotReadyError({ site: site.name, what: `${node} to be Ready again`, seconds, last });
    }),
  );
}
