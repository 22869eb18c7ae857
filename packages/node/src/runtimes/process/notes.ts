import type { Pod } from "@fjord/kube";
import type { Container } from "../../environment/pod-containers.ts";

/**
 * What of containers of a pod plain processes honour less than asked for, a sentence for each. Most hardened manifests
 * ask for the runtime's default profiles, so that these are no reason to refuse a pod.
 */
export function notesOn(pod: Pod, containers: readonly Container[], withoutCgroups: string | undefined): string[] {
  return [
    ...limitNotes(containers, withoutCgroups),
    ...profileNotes(pod, containers, "seccompProfile"),
    ...profileNotes(pod, containers, "appArmorProfile"),
  ];
}

function limitNotes(containers: readonly Container[], withoutCgroups: string | undefined): string[] {
  if (withoutCgroups === undefined) return [];
  const limited = containers.filter(({ resources }) => Object.keys(resources?.limits ?? {}).length > 0);
  return limited.length === 0 ? [] : [`The limits of ${namesOf(limited)} are not enforced: ${withoutCgroups}.`];
}

function profileNotes(
  pod: Pod,
  containers: readonly Container[],
  kind: "seccompProfile" | "appArmorProfile",
): string[] {
  const whole = pod.spec?.securityContext?.[kind];
  const asking = containers.filter((each) => (each.securityContext?.[kind] ?? whole)?.type === "RuntimeDefault");
  if (asking.length === 0) return [];
  return [`The ${kind} RuntimeDefault of ${namesOf(asking)} is not enforced: processes are given no profile.`];
}

function namesOf(containers: readonly Container[]): string {
  return containers.map(({ name }) => name).join(", ");
}
