import type { Pod, PriorityClass } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { find, findAll } from "../cluster-objects.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isFor, refusal } from "./refusal.ts";

type PodSpec = NonNullable<Pod["spec"]>;
const GROUP = "scheduling.k8s.io";

/** Gives pods the number and the policy that their priority class stands for. */
export const priority: AdmissionPlugin = {
  name: "Priority",
  mutate(request) {
    if (!isFor(request, "pods")) return;
    const spec = (request.object as Pod | undefined)?.spec;
    if (spec === undefined) return;
    if (request.operation === "CREATE") prioritize(request, spec);
    else if (request.operation === "UPDATE") keep(spec, (request.old as Pod).spec);
  },
  validate(request) {
    if (!isFor(request, "priorityclasses", GROUP) || request.operation === "DELETE") return;
    if (!(request.object as PriorityClass).globalDefault) return;
    const found = defaultClass(request.cluster)?.metadata.name;
    if (found === undefined || (request.operation === "UPDATE" && found === request.name)) return;
    throw refusal(request, `PriorityClass ${found} is already marked as default. Only one default can exist`);
  },
};

function prioritize(request: AdmissionRequest, spec: PodSpec): void {
  const { priorityClassName = "" } = spec;
  const found =
    priorityClassName === ""
      ? defaultClass(request.cluster)
      : find<PriorityClass>(request.cluster, "PriorityClass", "", priorityClassName, GROUP);
  if (priorityClassName !== "" && found === undefined) {
    throw refusal(request, `no PriorityClass with name ${priorityClassName} was found`);
  }
  const { value = 0, preemptionPolicy = found === undefined ? "PreemptLowerPriority" : undefined } = found ?? {};
  const computed = (what: string, given: unknown, right: unknown) =>
    refusal(
      request,
      `the ${what} (${given}) must not be provided in pod spec; priority admission controller computed ${right} from the given PriorityClass name`,
    );
  if (spec.priority !== undefined && spec.priority !== value) {
    throw computed("integer value of priority", spec.priority, value);
  }
  if (found?.metadata.name !== undefined) spec.priorityClassName = found.metadata.name;
  spec.priority = value;
  if (preemptionPolicy === undefined) return;
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw computed("string value of PreemptionPolicy", spec.preemptionPolicy, preemptionPolicy);
  }
  spec.preemptionPolicy = preemptionPolicy;
}

/** Clients of old times do not know the fields and would drop them. */
function keep(spec: PodSpec, old: PodSpec | undefined): void {
  if (spec.priority === undefined && old?.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined) {
    spec.preemptionPolicy = old.preemptionPolicy;
  }
}

function defaultClass(cluster: Cluster): PriorityClass | undefined {
  const defaults = findAll<PriorityClass>(cluster, "PriorityClass", undefined, GROUP).filter(
    (one) => one.globalDefault,
  );
  return defaults.toSorted((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}
