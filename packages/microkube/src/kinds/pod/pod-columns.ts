import type { IPod } from "kubernetes-models/v1/Pod";
import { columnsOf, orNone, text, wide } from "../columns.ts";
import type { KindColumn } from "../kind.ts";
import type { RowCondition } from "../resource-type.ts";
import { since } from "../values/duration.ts";
import type { Pod } from "./pod-update.ts";

type Statuses = NonNullable<NonNullable<Pod["status"]>["containerStatuses"]>;
type ContainerStatus = Statuses[number];

interface PodSummary {
  readonly ready: string;
  readonly reason: string;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

/** What `kubectl get pods` tells of a pod in a word or two. */
export function summarize(pod: Pod): PodSummary {
  const status = pod.status ?? {};
  const sidecars = new Set(
    (pod.spec?.initContainers ?? []).filter((one) => one.restartPolicy === "Always").map(({ name }) => name),
  );
  const gated = status.conditions?.some((one) => one.type === "PodScheduled" && one.reason === "SchedulingGated");
  let reason = gated ? "SchedulingGated" : status.reason || status.phase || "";
  const init = readInit(pod, sidecars);
  if (init.reason !== undefined) reason = init.reason;
  let counted: Statuses = status.initContainerStatuses?.slice(0, init.seen) ?? [];
  let ready = init.ready;
  const isInitialized = status.conditions?.some((one) => one.type === "Initialized" && one.status === "True");
  if (init.reason === undefined || isInitialized) {
    const containers = readContainers(pod, reason);
    reason = containers.reason;
    ready += containers.ready;
    counted = [...counted.filter(({ name }) => sidecars.has(name)), ...(status.containerStatuses ?? [])];
  }
  const isOver = status.phase === "Failed" || status.phase === "Succeeded";
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") reason = "Unknown";
    else if (!isOver) reason = "Terminating";
  }
  const total = (pod.spec?.containers ?? []).length + sidecars.size;
  return { ready: `${ready}/${total}`, reason, ...restartsOf(counted) };
}

function restartsOf(statuses: Statuses): { restarts: number; lastRestart: string | undefined } {
  const ends = statuses.map(({ lastState }) => lastState?.terminated?.finishedAt).filter((time) => time !== undefined);
  return {
    restarts: statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    lastRestart: (ends as string[]).sort().at(-1),
  };
}

/** The first init container that is not done says what the pod waits for. `seen`: how many were looked at. */
function readInit(pod: Pod, sidecars: ReadonlySet<string | undefined>) {
  const statuses = pod.status?.initContainerStatuses ?? [];
  let ready = 0;
  for (const [i, status] of statuses.entries()) {
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started) {
      if (status.ready) ready++;
      continue;
    }
    const why = waiting?.reason;
    const total = pod.spec?.initContainers?.length ?? 0;
    const reason = terminated
      ? `Init:${endText(status)}`
      : `Init:${why && why !== "PodInitializing" ? why : `${i}/${total}`}`;
    return { reason, ready, seen: i + 1 };
  }
  return { reason: undefined, ready, seen: statuses.length };
}

function endText({ state }: ContainerStatus): string {
  const { reason, signal, exitCode = 0 } = state?.terminated ?? {};
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function readContainers(pod: Pod, before: string): { reason: string; ready: number } {
  let reason = before;
  let ready = 0;
  let failure = "";
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated, running } = status.state ?? {};
    if (waiting?.reason) reason = waiting.reason;
    else if (terminated) {
      reason = endText(status);
      if (terminated.exitCode) failure = reason;
    } else if (status.ready && running) ready++;
  }
  if (reason !== "Completed") return { reason, ready };
  const isReady = pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
  if (ready > 0 && isReady) return { reason: "Running", ready };
  if (failure !== "") return { reason: failure, ready };
  return { reason: ready > 0 ? "NotReady" : reason, ready };
}

export const podColumns: KindColumn<IPod>[] = columnsOf<IPod>(
  text("Ready", (pod) => summarize(pod).ready),
  text("Status", (pod) => summarize(pod).reason),
  text("Restarts", (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === undefined ? `${restarts}` : `${restarts} (${since(lastRestart, now)} ago)`;
  }),
  wide(text("IP", ({ status }) => orNone(status?.podIPs?.[0]?.ip))),
  wide(text("Node", ({ spec }) => orNone(spec?.nodeName))),
  wide(text("Nominated Node", ({ status }) => orNone(status?.nominatedNodeName))),
  wide(
    text("Readiness Gates", ({ spec, status }) => {
      const gates = spec?.readinessGates ?? [];
      if (gates.length === 0) return "<none>";
      const open = gates.filter(({ conditionType }) =>
        status?.conditions?.some((one) => one.type === conditionType && one.status === "True"),
      );
      return `${open.length}/${gates.length}`;
    }),
  ),
);

export function podRowConditions({ status }: Pod): readonly RowCondition[] {
  if (status?.phase !== "Succeeded" && status?.phase !== "Failed") return [];
  const reason = status.phase;
  const message = reason === "Succeeded" ? "The pod has completed successfully." : "The pod failed.";
  return [{ type: "Completed", status: "True", reason, message }];
}
