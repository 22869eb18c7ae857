import { describeError, type KubeObject } from "@fjord/base";
import type { ResourceQuota } from "@fjord/kube";
import { findAll, typeOf } from "../../cluster-objects.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { type Amounts, added, amounts, amountText, only, quantityTexts, surplus } from "../amount.ts";
import { refusal } from "../refusal.ts";
import { countUsage } from "./quota-count.ts";
import { type QuotaEvaluator, quotaEvaluator, quotaMatches } from "./quota-evaluator.ts";

interface Reservation {
  readonly namespace: string;
  readonly quota: string;
  amounts: Amounts;
}

/** As whom quotas are counted from outside of the server. */
const counters = ["system:kube-controller-manager", "system:serviceaccount:kube-system:resourcequota-controller"];

/**
 * Keeps namespaces to their quotas. What a request will use is added to the status of every quota that it falls under
 * before the request is let through, each time to what is there by then: of many at once, exactly as many get through as
 * there is room for. What was added for a write that did not come about is taken back.
 *
 * A controller counts from what it has seen so far, which lacks what is let through and not yet written, or written and
 * not yet seen. What it writes is therefore counted again here; and where another request is let through meanwhile, its
 * write conflicts.
 */
export class ResourceQuotaPlugin implements AdmissionPlugin {
  readonly name = "ResourceQuota";
  readonly #reserved = new WeakMap<AdmissionRequest, Reservation[]>();
  /** Let through, and not yet written. */
  readonly #inFlight = new Set<Reservation>();

  mutate({ type, subresource, caller, object, cluster }: AdmissionRequest): void {
    if (type.group !== "" || type.plural !== "resourcequotas" || subresource !== "status") return;
    if (!counters.includes(caller.user) || object === undefined) return;
    const quota = object as ResourceQuota;
    const { name, namespace } = quota.metadata;
    if (quota.status?.hard === undefined) return;
    let used = countUsage(cluster, quota);
    for (const one of this.#inFlight) {
      if (one.quota === name && one.namespace === namespace) used = added(used, only(one.amounts, used.keys()));
    }
    quota.status = { ...quota.status, used: quantityTexts(used) };
  }

  validate(request: AdmissionRequest): void | Promise<void> {
    const { type, namespace, operation, object, cluster } = request;
    if (namespace === "" || object === undefined || (operation !== "CREATE" && operation !== "UPDATE")) return;
    if (type.group === "" && type.plural === "namespaces") return;
    const evaluator = quotaEvaluator(type);
    if (!evaluator?.handles(request)) return;
    const quotas = findAll<ResourceQuota>(cluster, "ResourceQuota", namespace);
    if (quotas.length === 0) return;
    return this.#reserve(request, evaluator, quotas);
  }

  settle(request: AdmissionRequest, succeeded: boolean): void {
    const reserved = this.#reserved.get(request);
    if (reserved === undefined) return;
    this.#reserved.delete(request);
    for (const one of reserved) this.#inFlight.delete(one);
    if (!succeeded) void this.#giveBack(request, reserved);
  }

  async #reserve(
    request: AdmissionRequest,
    evaluator: QuotaEvaluator,
    quotas: readonly ResourceQuota[],
  ): Promise<void> {
    // All are looked at before any is changed: a refusal by one should cost the others nothing.
    const affected = quotas.filter((quota) => additionTo(quota, evaluator, request) !== undefined);
    if (request.dryRun) return;
    const reserved: Reservation[] = [];
    this.#reserved.set(request, reserved);
    const type = typeOf(request.cluster, "", "ResourceQuota");
    const { cluster, namespace } = request;
    for (const { metadata } of affected) {
      const reservation: Reservation = { namespace, quota: metadata.name ?? "", amounts: new Map() };
      reserved.push(reservation);
      // From before it is in the status: whoever counts in between counts it.
      this.#inFlight.add(reservation);
      const take = (object: KubeObject) => {
        const current = object as ResourceQuota;
        const taken = additionTo(current, evaluator, request);
        reservation.amounts = taken ?? new Map();
        return taken === undefined ? undefined : withUsed(current, added(amounts(current.status?.used), taken));
      };
      try {
        await cluster.modify(type, namespace, reservation.quota, take, { subresource: "status" });
      } catch (error) {
        reservation.amounts = new Map();
        throw error;
      }
    }
  }

  async #giveBack({ cluster, namespace }: AdmissionRequest, reserved: readonly Reservation[]): Promise<void> {
    const type = typeOf(cluster, "", "ResourceQuota");
    for (const { quota, amounts: taken } of reserved) {
      if (taken.size === 0) continue;
      const give = (object: KubeObject) => {
        const current = object as ResourceQuota;
        const used = amounts(current.status?.used);
        return withUsed(current, new Map([...used, ...surplus(only(used, taken.keys()), taken)]));
      };
      try {
        await cluster.modify(type, namespace, quota, give, { subresource: "status" });
      } catch (error) {
        // The controller counts anew sooner or later.
        cluster.logger.debug("cannot give back to a quota", { namespace, quota, error: describeError(error) });
      }
    }
  }
}

function withUsed(quota: ResourceQuota, used: Amounts): ResourceQuota {
  return { ...quota, status: { ...quota.status, used: quantityTexts(used) } };
}

/** What the request will use of the quota; undefined where nothing. Throws (403) where there is not as much left. */
export function additionTo(
  quota: ResourceQuota,
  evaluator: QuotaEvaluator,
  request: AdmissionRequest,
): Amounts | undefined {
  const object = request.object as KubeObject;
  if (!quotaMatches(quota, evaluator, object)) return undefined;
  const { hard = {}, used = {} } = quota.status ?? {};
  const counted = evaluator.counts(Object.keys(hard));
  const problem = evaluator.problem?.(counted, object);
  if (problem !== undefined) throw refusal(request, `failed quota: ${quota.metadata.name}: ${problem}`);
  if (counted.some((name) => used[name] === undefined)) {
    throw refusal(request, `status unknown for quota: ${quota.metadata.name}, resources: ${counted.join(",")}`);
  }
  const now = request.cluster.clock.now();
  const usage = evaluator.usage(object, now);
  const negative = [...usage].filter(([, { value }]) => value < 0n).map(([name]) => name);
  if (negative.length > 0) throw refusal(request, `quota usage is negative for resource(s): ${negative.join(",")}`);
  const wasCounted = request.old !== undefined && quotaMatches(quota, evaluator, request.old);
  const more = wasCounted ? surplus(usage, evaluator.usage(request.old as KubeObject, now)) : usage;
  const requested = only(new Map([...more].filter(([, { value }]) => value > 0n)), Object.keys(hard));
  if (requested.size === 0) return undefined;
  if (request.subresource !== "status") check(request, quota, requested);
  return requested;
}

function check(request: AdmissionRequest, quota: ResourceQuota, requested: Amounts): void {
  const hard = amounts(quota.status?.hard);
  const used = amounts(quota.status?.used);
  const after = added(used, requested);
  const exceeded = [...requested.keys()].filter((name) => {
    const limit = hard.get(name);
    return limit !== undefined && (after.get(name)?.value ?? 0n) > limit.value;
  });
  if (exceeded.length === 0) return;
  const told = (of: Amounts) =>
    exceeded
      .toSorted()
      .filter((name) => of.has(name))
      .map((name) => `${name}=${amountText(of.get(name) ?? { value: 0n, form: "decimal" })}`)
      .join(",");
  throw refusal(
    request,
    `exceeded quota: ${quota.metadata.name}, requested: ${told(requested)}, used: ${told(used)}, limited: ${told(hard)}`,
  );
}
