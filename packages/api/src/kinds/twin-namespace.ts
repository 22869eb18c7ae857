import { conditions } from "../conditions.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { labelName, object } from "../schema/index.ts";

const fixed = "delete this TwinNamespace and make another";

export const TwinNamespace = defineKind({
  kind: "TwinNamespace",
  plural: "twinnamespaces",
  shortNames: ["tns"],
  namespaced: true,
  purpose:
    "A consumer's request for a namespace at the provider, the counterpart of one of its own. It stands in the consumer's tenant namespace and lasts while a contract between the two does.",
  writers: { spec: "the consumer's agent, through the provider's API proxy", status: "the provider's agent" },
  columns: [
    { name: "Twin", path: ".status.namespace", description: "The namespace given." },
    conditionColumn("Ready", "Whether it can be used."),
    reasonColumn("Ready", "Why it is ready or not."),
    { name: "Wanted", path: ".spec.wantedName", wide: true, description: "The name asked for." },
  ],
  spec: object({
    originNamespace: labelName().immutable(fixed).describe("Name of the consumer's namespace."),
    wantedName: labelName()
      .immutable(fixed)
      .describe("Name that the twin is to have. It is given as it is, or refused."),
  }).describe("What the consumer asks for."),
  status: object({
    namespace: labelName().optional().describe("Name of the namespace that was made."),
    conditions: conditions({
      Ready: {
        meaning: "The namespace exists, and the consumer may use it.",
        reasons: {
          NamespaceMade: "It does.",
          NameTaken: "A namespace of that name exists and is not this one's.",
          NameRefused: "The name is one that the provider keeps for itself.",
          ContractNotActive: "There is no contract in force with the consumer.",
          Removing: "The namespace is being removed.",
        },
      },
    }),
  })
    .optional()
    .describe("What the provider's agent answers."),
  rules: [
    {
      rule: "self.metadata.name == self.spec.originNamespace",
      message: "must be the same as metadata.name, so that a namespace has one twin",
      fieldPath: ".spec.originNamespace",
    },
  ],
  example: {
    metadata: { name: "shop", namespace: "default" },
    spec: { originNamespace: "shop", wantedName: "shop-mzxw6ytboi2dcmrtgq2tmnzyhe" },
  },
});
export type TwinNamespace = ObjectOf<typeof TwinNamespace>;
