import { isKeptNamespace, OFFLOADING_NAME, type Offloading, type OffloadingRule } from "@fjord/api";
import { describeError, type KubeObject } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { AdmissionRequest, Verdict } from "./admission-review.ts";
import type { KnownOffloadings } from "./known-offloadings.ts";
import { labelInForce } from "./label-question.ts";
import { placementOf } from "./pod-placement.ts";
import { reviewReflection } from "./reflection-review.ts";

/** How long an Offloading is held back for its namespace's label to be in force: less than the webhook's patience. */
const LABEL_MS = 3_000;

/** Has a namespace's label in force before its Offloading is, and remembers what holds from now on. */
export class OffloadingAdmission {
  readonly #home: Home;
  readonly #known: KnownOffloadings;

  constructor(home: Home, known: KnownOffloadings) {
    this.#home = home;
    this.#known = known;
  }

  async review({ operation, namespace = "", name, object, oldObject, dryRun }: AdmissionRequest): Promise<Verdict> {
    if (operation === "CREATE" && isKeptNamespace(namespace, this.#home.namespace))
      return {
        allowed: false,
        message: `namespace ${namespace} stays at home: it is one of the system's or of an agent's`,
      };
    const verdict = await reviewReflection(this.#home.client, "spec.reflection", rulesIn(object), rulesIn(oldObject));
    if (!verdict.allowed) return verdict;
    if (dryRun === true || (name !== undefined && name !== OFFLOADING_NAME)) return verdict;
    if (operation === "DELETE") {
      this.#known.admitted(namespace, undefined);
      return verdict;
    }
    const { spec, metadata } = object as Offloading;
    if (metadata.deletionTimestamp !== undefined || !isSane(spec)) return verdict;
    this.#known.admitted(namespace, spec);
    if (operation === "CREATE") await this.#label(namespace);
    return verdict;
  }

  async reviewRule({ operation, name = "", object, oldObject, dryRun }: AdmissionRequest): Promise<Verdict> {
    const [rules, before] = [rulesInTemplate(object), rulesInTemplate(oldObject)];
    const verdict = await reviewReflection(this.#home.client, "spec.template.reflection", rules, before);
    if (!verdict.allowed || dryRun === true) return verdict;
    if (operation === "DELETE") this.#known.admittedRule(name, undefined);
    else this.#known.admittedRule(name, object as OffloadingRule);
    return verdict;
  }

  async #label(namespace: string): Promise<void> {
    const { clock, logger } = this.#home;
    const patience = new AbortController();
    const cancel = clock.after(LABEL_MS, () => patience.abort());
    try {
      await labelInForce(this.#home, namespace, patience.signal);
    } catch (error) {
      // The controller labels it as well, and looks after pods that were made meanwhile.
      logger.warn("cannot label a namespace before it is offloaded", { namespace, error: describeError(error) });
    } finally {
      patience.abort();
      cancel();
    }
  }
}

function rulesIn(offloading: KubeObject | undefined): unknown {
  return (offloading as Partial<Offloading> | undefined)?.spec?.reflection;
}

function rulesInTemplate(rule: KubeObject | undefined): unknown {
  return (rule as Partial<OffloadingRule> | undefined)?.spec?.template?.reflection;
}

/** Whether the schema, which has not been applied yet, can let it pass. */
function isSane(spec: Offloading["spec"]): boolean {
  const pod = { metadata: {}, spec: { containers: [] } } as unknown as Pod;
  try {
    placementOf(pod, spec);
    return true;
  } catch {
    return false;
  }
}
