import { conditions } from "../conditions.ts";
import { offloadingFields } from "../fragments/offloading-spec.ts";
import { rulesHeeded } from "../fragments/rules-heeded.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { array, labelName, object, siteId } from "../schema/index.ts";

export const Offloading = defineKind({
  kind: "Offloading",
  plural: "offloadings",
  shortNames: ["ofl"],
  namespaced: true,
  purpose:
    "A namespace's permission to extend to other sites. There is one per namespace, named `offloading`; deleting it brings everything home.",
  writers: {
    spec: "the owner of the namespace on the consumer; `fjord offload` or an OffloadingRule on their behalf",
    status: "the consumer's agent",
  },
  columns: [
    { name: "Pods", path: ".spec.pods", description: "Where pods may run." },
    { name: "Naming", path: ".spec.naming.strategy", description: "How twins are named." },
    conditionColumn("Ready", "Whether all twins exist."),
    reasonColumn("Ready", "Why it is ready or not."),
  ],
  spec: object({
    ...offloadingFields,
    naming: offloadingFields.naming.immutable("delete this Offloading, which removes the twins, and make another"),
  })
    .default({})
    .describe("What the owner of the namespace wants."),
  status: object({
    sites: array(
      object({
        site: siteId().describe("Id of the site."),
        twin: labelName().optional().describe("Name of the twin namespace there."),
        conditions: conditions({
          Ready: {
            meaning: "The twin exists and can be used.",
            reasons: {
              TwinReady: "It can.",
              AwaitingTwin: "The provider is making it.",
              NameTaken: "The provider has a namespace of that name that is not this one's twin.",
              NameRefused: "The provider does not give that name away.",
              TwinRefused: "The provider takes no request for it; the message says why.",
              SiteUnreachable: "The provider does not answer.",
              ContractNotActive: "There is no contract in force with the provider.",
              Removing: "The twin is being removed.",
            },
          },
        }),
      }),
      { maxItems: 512, keys: ["site"] },
    )
      .optional()
      .describe("The twins, one for each eligible site."),
    conditions: conditions({
      Ready: {
        meaning: "Every eligible site has a usable twin.",
        reasons: {
          AllTwinsReady: "They do.",
          NoSiteEligible: "No virtual node matches spec.sites.",
          SomeTwinsNotReady: "Some do not; status.sites says which and why.",
          NoTwinReady: "None does; status.sites says why.",
          NamespaceKept: "It is a namespace of the system or of an agent, which stays at home.",
          Removing: "The Offloading is being deleted.",
        },
      },
      RulesHeeded: rulesHeeded,
    }),
  })
    .optional()
    .describe("What the agent knows."),
  rules: [
    {
      rule: "self.metadata.name == 'offloading'",
      message: "must be offloading: a namespace has one Offloading, and that is its name",
      fieldPath: ".metadata.name",
    },
  ],
  example: { metadata: { name: "offloading", namespace: "default" } },
});
export type Offloading = ObjectOf<typeof Offloading>;
