import { OFFLOADED_LABEL } from "@fjord/api";
import { isBeingDeleted, type Namespace } from "@fjord/kube";
import { ruleFor } from "../namespace/rule-for.ts";
import type { AdmissionRequest, PatchOperation, Verdict } from "./admission-review.ts";
import type { KnownOffloadings } from "./known-offloadings.ts";

/** Gives a namespace that a rule matches its label in the moment it is made, so that its first pods are asked about. */
export class NamespaceAdmission {
  readonly #known: Pick<KnownOffloadings, "rules" | "has" | "promised">;
  readonly #agentNamespace: string;

  constructor(known: Pick<KnownOffloadings, "rules" | "has" | "promised">, agentNamespace: string) {
    this.#known = known;
    this.#agentNamespace = agentNamespace;
  }

  review({ object, name = "", dryRun }: AdmissionRequest): Verdict {
    const namespace = object as Namespace;
    if (isBeingDeleted(namespace)) return { allowed: true };
    const has = this.#known.has(name);
    const rule = has ? undefined : ruleFor(namespace, this.#known.rules(), this.#agentNamespace);
    if (!has && rule === undefined) return { allowed: true };
    if (rule !== undefined && dryRun !== true) this.#known.promised(name, rule.spec.template);
    const { labels } = namespace.metadata;
    if (labels?.[OFFLOADED_LABEL] === "true") return { allowed: true };
    return { allowed: true, patch: labelPatch(labels) };
  }
}

function labelPatch(labels: Record<string, string> | undefined): PatchOperation[] {
  if (labels === undefined) return [{ op: "add", path: "/metadata/labels", value: { [OFFLOADED_LABEL]: "true" } }];
  return [{ op: "add", path: `/metadata/labels/${OFFLOADED_LABEL.replace("/", "~1")}`, value: "true" }];
}
