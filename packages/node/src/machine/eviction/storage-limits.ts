import type { Pod } from "@fjord/kube";
import { inUnits, parseQuantity, podLimits } from "@fjord/kube";
import type { ContainerStats } from "../../runtime/stats.ts";
import { ephemeralBytes, type PodStorage } from "../build-summary.ts";

/** Which of its own limits of local storage a pod has outgrown, a sentence for each. */
export function exceededStorage(
  pod: Pod,
  containers: readonly ContainerStats[],
  storage: PodStorage | undefined,
): string[] {
  return [...volumes(pod, storage), ...layers(pod, containers, storage), ...whole(pod, containers, storage)];
}

function volumes(pod: Pod, storage: PodStorage | undefined): string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = bytesOf(emptyDir?.sizeLimit);
    const used = storage?.volumes.find((volume) => volume.name === name)?.usedBytes ?? 0;
    return limit > 0 && used > limit
      ? [`Usage of EmptyDir volume "${name}" exceeds the limit "${emptyDir?.sizeLimit}".`]
      : [];
  });
}

function layers(pod: Pod, containers: readonly ContainerStats[], storage: PodStorage | undefined): string[] {
  return (pod.spec?.containers ?? []).flatMap(({ name, resources }) => {
    const text = resources?.limits?.["ephemeral-storage"];
    const limit = bytesOf(text);
    const layer = containers.find((each) => each.name === name)?.rootFs?.usedBytes ?? 0;
    const used = layer + (storage?.logs?.[name]?.usedBytes ?? 0);
    return limit > 0 && used > limit ? [`Container ${name} exceeded its local ephemeral storage limit "${text}".`] : [];
  });
}

function whole(pod: Pod, containers: readonly ContainerStats[], storage: PodStorage | undefined): string[] {
  const limit = inUnits(podLimits(pod).get("ephemeral-storage") ?? 0n);
  const used = ephemeralBytes(containers, storage);
  return limit > 0 && used > limit
    ? [`Pod ephemeral local storage usage exceeds the total limit of containers ${limit}.`]
    : [];
}

function bytesOf(quantity: string | number | undefined): number {
  return quantity === undefined ? 0 : inUnits(parseQuantity(quantity));
}
