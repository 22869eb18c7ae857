import type { Pod } from "@fjord/kube";
import { inThousandths, inUnits, parseQuantity } from "@fjord/kube";
import type { PodFacts } from "../volumes/pod-volumes.ts";
import { ContainerMissing, UnsupportedResourceField } from "./errors.ts";
import { type Container, findContainer } from "./pod-containers.ts";
import { own } from "./pod-field.ts";

/** A `resourceFieldRef` of a variable or of a downward API volume. */
export interface ResourceReference {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string | number;
}

/** What has no limit is limited by the pod as a whole, else by what the node has for pods. */
const limitedByNode = new Set(["cpu", "memory", "ephemeral-storage"]);

/** The amount in units of the divisor, rounded up. `container` is meant where the reference names none. */
export function resourceField(pod: Pod, container: Container | undefined, ref: ResourceReference, facts: PodFacts) {
  const target = ref.containerName ? findContainer(pod, ref.containerName) : container;
  if (target === undefined) throw new ContainerMissing({ name: ref.containerName ?? "" });
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(ref.resource);
  if (match === null) throw new UnsupportedResourceField({ resource: ref.resource });
  const [, kind, resource] = match as unknown as [string, "limits" | "requests", string];
  const toNumber = resource === "cpu" ? inThousandths : (quantity: bigint) => inUnits(quantity);
  const amount = (text: string | number | undefined) => (text === undefined ? 0 : toNumber(parseQuantity(text)));
  const divisor = amount(ref.divisor) || amount(1);

  let value = amount(own(target.resources?.[kind], resource));
  if (value === 0 && kind === "limits" && limitedByNode.has(resource)) {
    value = amount(own(pod.spec?.resources?.limits, resource)) || (own(facts.allocatable, resource) ?? 0);
  }
  return String(Math.ceil(value / divisor));
}
