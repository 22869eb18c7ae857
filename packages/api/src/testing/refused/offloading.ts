import { Offloading, OffloadingRule } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { offloadings, selectors } from "./shared.ts";

const namingStays = "cannot be changed: delete this Offloading, which removes the twins, and make another";

export const refusedOffloadings: readonly Refusal[] = [
  ...refuses(Offloading, [
    [
      "a second one in a namespace",
      { metadata: { name: "other" } },
      "metadata.name",
      "must be offloading: a namespace has one Offloading, and that is its name",
    ],
    ...offloadings("spec"),
  ]),
  ...refusesChanges(Offloading, { metadata: { namespace: "kube-public" }, spec: { naming: { strategy: "Same" } } }, [
    ["other names for the twins", { spec: { naming: { strategy: "Suffixed" } } }, "spec.naming", namingStays],
    ["other names by default", { spec: { naming: null } }, "spec.naming", namingStays],
  ]),
];

export const refusedOffloadingRules: readonly Refusal[] = refuses(OffloadingRule, [
  ["no selector", { spec: { namespaceSelector: null } }, "spec.namespaceSelector", "Required value"],
  ...selectors("spec.namespaceSelector"),
  [
    "one name for many namespaces",
    { spec: { template: { naming: { strategy: "Chosen", name: "shop" } } } },
    "spec.template.naming.strategy",
    "cannot be Chosen in a rule, since many namespaces would share one name: use Suffixed or Same",
  ],
  ...offloadings("spec.template"),
]);
