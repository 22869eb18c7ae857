import { createHash } from "node:crypto";
import { newObject, OFFLOADING_NAME, OFFLOADING_RULE_LABEL, Offloading, OffloadingRule } from "@fjord/api";
import { sameContent } from "@fjord/kube";

/** The Offloading that a rule gives a namespace. */
export function forgeOffloading(rule: OffloadingRule, namespace: string): Offloading {
  const { name = "", uid = "" } = rule.metadata;
  const owner = { apiVersion: rule.apiVersion, kind: OffloadingRule.kind, name, uid, controller: true };
  return newObject(Offloading, {
    metadata: {
      name: OFFLOADING_NAME,
      namespace,
      labels: { [OFFLOADING_RULE_LABEL]: labelOf(name) },
      ownerReferences: [owner],
    },
    spec: rule.spec.template,
  });
}

/** The rule that made an Offloading and still answers for it; undefined for a namespace's own. */
export function madeByRule({ metadata }: Offloading): { readonly name: string; readonly uid: string } | undefined {
  // Whoever takes the label away takes the Offloading over.
  if (metadata.labels?.[OFFLOADING_RULE_LABEL] === undefined) return undefined;
  return metadata.ownerReferences?.find(({ kind, controller }) => kind === OffloadingRule.kind && controller === true);
}

/** Whether the Offloading is what the rule says. */
export function isMadeFor(offloading: Offloading, rule: OffloadingRule): boolean {
  const wanted = forgeOffloading(rule, offloading.metadata.namespace ?? "");
  return madeByRule(offloading)?.uid === rule.metadata.uid && sameContent(offloading.spec, wanted.spec);
}

/** A rule's name may be longer than a label's value. */
function labelOf(name: string): string {
  if (name.length <= 63) return name;
  return `${name.slice(0, 54)}-${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
