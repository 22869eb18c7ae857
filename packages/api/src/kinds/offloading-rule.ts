import { conditions } from "../conditions.ts";
import { offloadingFields } from "../fragments/offloading-spec.ts";
import { rulesHeeded } from "../fragments/rules-heeded.ts";
import { labelSelector } from "../fragments/selector.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { integer, object } from "../schema/index.ts";

export const OffloadingRule = defineKind({
  kind: "OffloadingRule",
  plural: "offloadingrules",
  shortNames: ["oflr"],
  namespaced: false,
  purpose:
    "Gives every namespace that matches a selector an Offloading, now and when it is made. A namespace's own Offloading goes before it.",
  writers: { spec: "the owner of the consumer", status: "the consumer's agent" },
  columns: [
    { name: "Pods", path: ".spec.template.pods", description: "Where pods may run." },
    { name: "Matched", path: ".status.matched", type: "integer", description: "Namespaces that match." },
    { name: "Offloaded", path: ".status.offloaded", type: "integer", description: "Those that the rule extends." },
    conditionColumn("Ready", "Whether all of them have their Offloading."),
    reasonColumn("Ready", "Why it is ready or not."),
  ],
  spec: object({
    namespaceSelector: labelSelector().describe("Which namespaces to extend, by their labels. `{}` means all of them."),
    template: object({
      ...offloadingFields,
      naming: offloadingFields.naming.rule(
        "self.strategy != 'Chosen'",
        "cannot be Chosen in a rule, since many namespaces would share one name: use Suffixed or Same",
        ".strategy",
      ),
    })
      .default({})
      .describe("The spec of the Offloadings that are made."),
  }).describe("What the owner wants."),
  status: object({
    matched: integer({ minimum: 0 }).optional().describe("How many namespaces match."),
    offloaded: integer({ minimum: 0 })
      .optional()
      .describe("How many of them have an Offloading made by this rule; the others have one of their own."),
    conditions: conditions({
      Ready: {
        meaning: "Every matching namespace has an Offloading.",
        reasons: {
          Applied: "They do.",
          NoNamespaceMatches: "No namespace matches.",
          SomeFailed: "Some could not be given one; the message says which and why.",
        },
      },
      RulesHeeded: rulesHeeded,
    }),
  })
    .optional()
    .describe("What the agent knows."),
  example: {
    metadata: { name: "shops" },
    spec: { namespaceSelector: { matchLabels: { team: "shop" } } },
  },
});
export type OffloadingRule = ObjectOf<typeof OffloadingRule>;
