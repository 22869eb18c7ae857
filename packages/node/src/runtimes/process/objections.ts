import type { Pod } from "@fjord/kube";
import type { MachineAbilities } from "./container-setup.ts";

/** What of a pod plain processes can not honour, a sentence for each. */
export function objectionsTo(pod: Pod, _abilities: MachineAbilities): string[] {
  const result: string[] = [];
  for (const container of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]) {
    if ((container.command ?? []).length === 0) {
      result.push(
        `Container ${container.name} names no command; the process runtime runs programs of this machine, and an image is only a label to it.`,
      );
    }
  }
  return result;
}
