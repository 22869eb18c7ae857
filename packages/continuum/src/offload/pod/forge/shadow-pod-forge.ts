import { createHash } from "node:crypto";
import { CONSUMER_LABEL, newObject, ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { keepDownward } from "./downward.ts";
import type { ForgeContext, Mutator, PodTemplate } from "./forge-context.ts";
import { carryMetadata } from "./metadata.ts";
import { forgetPlacement } from "./placement.ts";
import { applyPodPatch } from "./pod-patch.ts";
import { leaveServiceAccount } from "./service-account.ts";

/** On a ShadowPod: a digest of what it asks for, so that whoever follows it need not keep the whole. */
export const FORGED_ANNOTATION = "fjord.dev/forged";

/** On a ShadowPod: where it cannot be known whether the pod still runs, no other is made. */
export const ONLY_ONE_ANNOTATION = "fjord.dev/only-one";

const chain: readonly Mutator[] = [carryMetadata, forgetPlacement, leaveServiceAccount, keepDownward, applyPodPatch];

/** The shadow of a pod: what it needs, without what must not leak, and with what the other side needs. */
export function forgeShadowPod(pod: Pod, context: ForgeContext): ShadowPod {
  const { labels, annotations, spec } = forgeTemplate(pod, context);
  // The kind takes any pod spec; its type names only what is checked.
  const template = { metadata: { labels, annotations }, spec } as unknown as ShadowPod["spec"]["pod"];
  const { name, uid = "" } = pod.metadata;
  return newObject(ShadowPod, {
    metadata: {
      name,
      namespace: context.twinNamespace,
      labels: { [CONSUMER_LABEL]: context.consumer },
      annotations: {
        [FORGED_ANNOTATION]: digest(template),
        ...(isOnlyOne(pod) && { [ONLY_ONE_ANNOTATION]: "true" }),
      },
    },
    spec: { contract: context.contract, originUid: uid, pod: template, recreate: recreateWish(pod) },
  });
}

export function forgeTemplate(pod: Pod, context: ForgeContext): PodTemplate {
  const begin: PodTemplate = { labels: {}, annotations: {}, spec: pod.spec ?? { containers: [] } };
  return chain.reduce((template, mutate) => mutate(template, pod, context), begin);
}

/** Jobs count their pods: one that is lost has failed, and whether there is another is for the Job to say. */
export function recreateWish(pod: Pod): "Always" | "Never" {
  const isOfJob = pod.metadata.ownerReferences?.some(({ kind, controller }) => kind === "Job" && controller) ?? false;
  return isOfJob || pod.spec?.restartPolicy === "Never" ? "Never" : "Always";
}

/** A StatefulSet promises that there are never two of a name. */
function isOnlyOne({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === "StatefulSet" && controller) ?? false;
}

function digest(template: unknown): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("base64url").slice(0, 22);
}
