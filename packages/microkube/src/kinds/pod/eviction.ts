import type { KubeObject } from "@fjord/base";
import type { IPodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import type { Cluster, DeleteCallOptions } from "../../cluster.ts";
import { badRequest, forbidden, notFound, StatusError } from "../../status-error.ts";
import type { DraftObject } from "../kind.ts";
import type { ResourceType, WriteContext } from "../resource-type.ts";
import { type LabelSelector, selects } from "../values/label-selector.ts";
import { success } from "./binding.ts";
import { setCondition } from "./pod-condition.ts";
import type { Pod } from "./pod-update.ts";

interface Eviction extends KubeObject {
  deleteOptions?: DeleteCallOptions["deleteOptions"] & { dryRun?: string[] };
}

type Budget = DraftObject<IPodDisruptionBudget>;
const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
/** More than so many at once and nobody keeps up with them. */
const mostDisrupted = 2000;

/** Deletes a pod, unless its disruption budget is used up. */
export async function evictPod(request: WriteContext, name: string, body: KubeObject): Promise<KubeObject> {
  const { cluster, namespace } = request;
  const { deleteOptions, metadata } = body as Eviction;
  if (metadata.name !== name) throw badRequest("name in URL does not match name in Eviction object");
  const type = cluster.types.ofKind("", "Pod") as ResourceType;
  const pod = cluster.get(type, namespace, name) as Pod | undefined;
  if (pod === undefined) throw notFound(type, name);
  const dryRun = request.dryRun || (deleteOptions?.dryRun ?? []).length > 0;
  if (!needsNoBudget(pod)) {
    const budgets = budgetsOf(cluster, pod);
    if (budgets.length > 1) {
      const text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
      throw new StatusError(500, "", text);
    }
    const budget = budgets[0];
    if (budget !== undefined && !isUnhealthyAndFree(pod, budget)) await takeFrom(request, pod, budget, dryRun);
  }
  await markAndDelete({ ...request, dryRun }, type, name, deleteOptions ?? {});
  return success;
}

function needsNoBudget({ status, metadata }: Pod): boolean {
  return status?.phase !== "Running" || metadata.deletionTimestamp !== undefined;
}

function budgetsOf(cluster: Cluster, { metadata }: Pod): Budget[] {
  const type = cluster.types.ofKind("policy", "PodDisruptionBudget");
  if (type === undefined) return [];
  return (cluster.list(type, metadata.namespace) as unknown as Budget[]).filter(({ spec }) =>
    selects(spec?.selector as LabelSelector | undefined, metadata.labels ?? {}),
  );
}

/** A pod that serves nobody may go where its budget says so, or while enough others are healthy. */
function isUnhealthyAndFree(pod: Pod, { spec, status }: Budget): boolean {
  if (pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True")) return false;
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

async function takeFrom(
  { cluster, namespace }: WriteContext,
  pod: Pod,
  budget: Budget,
  dryRun: boolean,
): Promise<void> {
  const type = cluster.types.ofKind("policy", "PodDisruptionBudget") as ResourceType;
  const time = `${new Date(cluster.clock.now()).toISOString().slice(0, 19)}Z`;
  const take = (object: KubeObject): KubeObject => {
    const current = object as Budget & KubeObject;
    checkBudget(current);
    const status = current.status as NonNullable<Budget["status"]>;
    status.disruptionsAllowed = (status.disruptionsAllowed ?? 0) - 1;
    status.disruptedPods = { ...status.disruptedPods, [pod.metadata.name ?? ""]: time };
    if (status.disruptionsAllowed === 0) closeBudget(current, time);
    return current as KubeObject;
  };
  if (dryRun) take(structuredClone(budget) as unknown as KubeObject);
  else await cluster.modify(type, namespace, budget.metadata.name ?? "", take, { subresource: "status" });
}

/** Whoever asks next is to be told at once that nothing is left. */
function closeBudget({ metadata, status = {} }: Budget, time: string): void {
  const others = (status.conditions ?? []).filter(({ type }) => type !== "DisruptionAllowed");
  const closed = {
    type: "DisruptionAllowed",
    status: "False",
    observedGeneration: metadata.generation,
    lastTransitionTime: time,
    reason: "InsufficientPods",
    message: "",
  };
  status.conditions = [...others, closed];
}

function checkBudget({ metadata, status = {} }: Budget): void {
  const name = metadata.name ?? "";
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    throw exhausted(`The disruption budget ${name} is still being processed by the server.`, 10);
  }
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, conditions = [] } = status;
  const resource = { group: "policy", plural: "poddisruptionbudget" };
  if (disruptionsAllowed < 0) throw forbidden(resource, name, "pdb disruptions allowed is negative");
  if (Object.keys(status.disruptedPods ?? {}).length > mostDisrupted) {
    const text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(resource, name, text);
  }
  if (disruptionsAllowed > 0) return;
  const condition = conditions.find((one) => one.type === "DisruptionAllowed");
  const said = condition?.status === "False" && condition.message ? condition : undefined;
  const cannot = `The disruption budget ${name} does not allow evicting pods currently`;
  if (said?.reason === "SyncFailed") throw exhausted(`${cannot} because it failed sync: ${said.message}`, 0);
  if (currentHealthy <= desiredHealthy) {
    const text = `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    throw exhausted(text, 0);
  }
  throw exhausted(said === undefined ? cannot : `${cannot} (${said.reason}): ${said.message}`, 0);
}

function exhausted(why: string, retryAfterSeconds: number): StatusError {
  const causes = [{ reason: "DisruptionBudget", message: why }];
  return new StatusError(429, "TooManyRequests", refusal, {
    causes,
    ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
  });
}

async function markAndDelete(
  { cluster, namespace, caller, dryRun }: WriteContext,
  type: ResourceType,
  name: string,
  { dryRun: _, ...deleteOptions }: NonNullable<Eviction["deleteOptions"]>,
): Promise<void> {
  if (!dryRun) {
    const mark = (object: KubeObject): KubeObject => {
      const reason = { reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" };
      setCondition(object as Pod, { type: "DisruptionTarget", status: "True", ...reason }, cluster.clock.now());
      return object;
    };
    const uid = deleteOptions.preconditions?.uid;
    const marked = await cluster.modify(
      type,
      namespace,
      name,
      (object) => (uid === undefined || object.metadata.uid === uid ? mark(object) : undefined),
      { subresource: "status", caller },
    );
    const { preconditions } = deleteOptions;
    if (marked !== undefined && preconditions?.resourceVersion !== undefined) {
      const resourceVersion = marked.metadata.resourceVersion ?? "";
      return cluster.delete(type, namespace, name, {
        caller,
        deleteOptions: { ...deleteOptions, preconditions: { ...preconditions, resourceVersion } },
      });
    }
  }
  await cluster.delete(type, namespace, name, { caller, dryRun, deleteOptions });
}
