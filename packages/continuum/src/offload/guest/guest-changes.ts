import type { ShadowPod } from "@fjord/api";
import { type KubeClient, Pod, sameContent } from "@fjord/kube";
import { GENERATION_ANNOTATION } from "../generation-annotation.ts";
import { guestAnnotations, guestLabels, wantedSpec } from "./guest-pod.ts";

export const FIELD_MANAGER = "fjord-guest";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** Whether the shadow pod has changed since its pod was last made like it. */
export function isBehind(pod: Pod, shadow: ShadowPod): boolean {
  return pod.metadata.annotations?.[GENERATION_ANNOTATION] !== String(shadow.metadata.generation ?? 1);
}

/** Whether amounts differ from those of the pod that runs. */
export function isResized(pod: Pod, shadow: ShadowPod): boolean {
  return resizePatch(pod, shadow) !== undefined;
}

/** Makes a running pod like its shadow pod in all that may change of a pod that runs. Comes to the same when repeated. */
export async function followShadow(
  client: KubeClient,
  pod: Pod,
  shadow: ShadowPod,
  consumer: string,
  contract: string,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "", uid } = pod.metadata;
  const key = { name, namespace };
  // Who has set which label shows only in the object itself: what the consumer has taken away since is ours to remove.
  const current = await client.get(Pod, key, { signal });
  if (current.metadata.uid !== uid) return;
  const resize = resizePatch(current, shadow);
  if (resize !== undefined) {
    await client.patch(Pod, key, "strategic", { metadata: { uid }, ...resize }, { subresource: "resize", signal });
  }
  const ephemeral = missingEphemeral(current, shadow);
  if (ephemeral.length > 0) {
    const patch = { metadata: { uid }, spec: { ephemeralContainers: ephemeral } };
    await client.patch(Pod, key, "strategic", patch, { subresource: "ephemeralcontainers", signal });
  }
  const labels = guestLabels(shadow, consumer);
  const annotations = guestAnnotations(shadow, contract);
  const patch = {
    metadata: {
      uid,
      labels: { ...taken(current, "f:labels", labels), ...labels },
      annotations: { ...taken(current, "f:annotations", annotations), ...annotations },
    },
    ...specPatch(current, shadow),
  };
  await client.patch(Pod, key, "strategic", patch, { fieldManager: FIELD_MANAGER, signal });
}

/** Nulls for what this site has once set and the shadow pod no longer has. */
function taken(pod: Pod, field: string, wanted: Readonly<Record<string, string>>): Record<string, null> {
  const entries = (pod.metadata.managedFields ?? []) as { manager?: string; fieldsV1?: Record<string, unknown> }[];
  const own = entries.filter(({ manager }) => manager === FIELD_MANAGER);
  const names = own.flatMap(({ fieldsV1 }) => {
    const metadata = fieldsV1?.["f:metadata"] as Record<string, unknown> | undefined;
    return Object.keys((metadata?.[field] as Record<string, unknown> | undefined) ?? {});
  });
  const gone = names.filter((name) => name.startsWith("f:")).map((name) => name.slice(2));
  return Object.fromEntries(gone.filter((name) => wanted[name] === undefined).map((name) => [name, null]));
}

/** What else may change of a pod that runs: its images, and the time that it has. */
function specPatch(pod: Pod, shadow: ShadowPod): { spec?: unknown } {
  const spec = wantedSpec(shadow);
  const changed = (field: "containers" | "initContainers") =>
    (spec[field] ?? []).flatMap(({ name, image }) => {
      const now = pod.spec?.[field]?.find((each) => each.name === name);
      return now === undefined || now.image === image ? [] : [{ name, image }];
    });
  const containers = changed("containers");
  const initContainers = changed("initContainers");
  const { activeDeadlineSeconds } = spec;
  const patch = {
    ...(containers.length > 0 && { containers }),
    ...(initContainers.length > 0 && { initContainers }),
    ...(activeDeadlineSeconds !== pod.spec?.activeDeadlineSeconds && { activeDeadlineSeconds }),
  };
  return Object.keys(patch).length > 0 ? { spec: patch } : {};
}

function resizePatch(pod: Pod, shadow: ShadowPod): { spec: unknown } | undefined {
  const spec = wantedSpec(shadow);
  const changed = (field: "containers" | "initContainers") =>
    (spec[field] ?? []).flatMap(({ name, resources = {} }: Container) => {
      const now = pod.spec?.[field]?.find((each) => each.name === name);
      const wanted = { requests: resources.requests ?? {}, limits: resources.limits ?? {} };
      const isSame =
        now === undefined ||
        (sameAmounts(wanted.requests, now.resources?.requests) && sameAmounts(wanted.limits, now.resources?.limits));
      return isSame ? [] : [{ name, resources: wanted }];
    });
  const containers = changed("containers");
  const initContainers = changed("initContainers");
  if (containers.length === 0 && initContainers.length === 0) return undefined;
  return {
    spec: { ...(containers.length > 0 && { containers }), ...(initContainers.length > 0 && { initContainers }) },
  };
}

/** Only what is named counts: the provider's defaults may have added to the rest. */
function sameAmounts(wanted: Readonly<Record<string, unknown>>, now: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.entries(wanted).every(([name, amount]) => sameContent(String(amount), String(now[name])));
}

function missingEphemeral(pod: Pod, shadow: ShadowPod): unknown[] {
  const known = new Set(pod.spec?.ephemeralContainers?.map(({ name }) => name));
  return (wantedSpec(shadow).ephemeralContainers ?? []).filter(({ name }) => !known.has(name));
}
