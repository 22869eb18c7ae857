import type { Pod } from "@fjord/kube";
import { NO_SERVER } from "./server-script.ts";

/** How far a pod of the test is; `isHopeless`: waiting will not help. */
export type PodStanding =
  | { readonly isReady: true }
  | { readonly isReady: false; readonly why: string; readonly isHopeless: boolean };

/** On a consumer's pod: whether the provider has taken it. */
const OFFLOADED_CONDITION = "fjord.dev/Offloaded";
/** Of these a node has tried again already, or never will. */
const HOPELESS = [
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "RuntimeUnsupported",
];
/** A provider does not change its mind about these while a test waits. */
const REFUSED = ["PodRefused", "RequestsMissing", "LimitsDiffer"];

export function podStanding(pod: Pod | undefined): PodStanding {
  if (pod === undefined) return waiting("it is gone", true);
  const { status, metadata, spec } = pod;
  if (metadata.deletionTimestamp !== undefined) return waiting("somebody deletes it", true);
  const condition = (name: string) => status?.conditions?.find(({ type }) => type === name);
  if (condition("Ready")?.status === "True" && status?.podIP !== undefined) return { isReady: true };
  if (status?.phase === "Failed" || status?.phase === "Succeeded")
    return waiting(said(status.reason ?? status.phase, status.message), true);
  if (!spec?.nodeName) {
    const scheduled = condition("PodScheduled");
    return waiting(said("it has no node", scheduled?.message));
  }
  const offloaded = condition(OFFLOADED_CONDITION);
  if (offloaded?.status === "False")
    return waiting(
      said(`it is not taken there: ${offloaded.reason}`, offloaded.message),
      REFUSED.includes(offloaded.reason ?? ""),
    );
  return containerStanding(pod);
}

function containerStanding({ status, spec }: Pod): PodStanding {
  const [container] = status?.containerStatuses ?? [];
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  if (ended?.exitCode === NO_SERVER)
    return waiting(`image ${spec?.containers[0]?.image} has neither busybox with httpd nor python3`, true);
  if (ended !== undefined && container?.state?.running === undefined)
    return waiting(said(`its container ended with ${ended.exitCode}: ${ended.reason ?? "Error"}`, ended.message));
  const { reason = "", message } = container?.state?.waiting ?? {};
  if (reason !== "") return waiting(said(reason, message), HOPELESS.includes(reason));
  return waiting(container?.state?.running === undefined ? "nothing is heard of it yet" : "it does not answer yet");
}

function waiting(why: string, isHopeless = false): PodStanding {
  return { isReady: false, why, isHopeless };
}

function said(what: string, message: string | undefined): string {
  return message ? `${what}: ${message.trim()}` : what;
}
