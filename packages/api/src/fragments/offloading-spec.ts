import { duration, enumeration, labelName, object } from "../schema/index.ts";
import { reflectionRules } from "./reflection.ts";
import { labelSelector } from "./selector.ts";

const naming = object({
  strategy: enumeration({
    Suffixed: "the name here with a suffix made of this site's id.",
    Same: "the name here.",
    Chosen: "the name in `name`.",
  })
    .default("Suffixed")
    .describe("How twin namespaces are named."),
  name: labelName().optional().describe("The twins' name, with strategy `Chosen`."),
}).rule(
  "(self.strategy == 'Chosen') == has(self.name)",
  "is needed with strategy: Chosen, and has no meaning with the others",
  ".name",
);

const whenUnreachable = object({
  action: enumeration({
    Evict: "pods there are evicted after `after`, and their controllers make new ones elsewhere.",
    Keep: "pods there are kept until the site is back.",
  })
    .default("Evict")
    .describe("What happens to pods at a site that does not answer."),
  after: duration({ minimum: "1s" })
    .optional()
    .describe("How long `Evict` waits; 5m where it is left out, as for any unreachable node."),
}).rule("self.action == 'Evict' || !has(self.after)", "has no meaning with action: Keep", ".after");

/** What an Offloading says of its namespace, and an OffloadingRule of many. */
export const offloadingFields = {
  naming: naming.default({}).describe("What the namespace's twins are called."),
  pods: enumeration({
    Local: "pods stay here; only other objects are reflected.",
    Remote: "pods go to virtual nodes only.",
    Both: "the scheduler chooses among all nodes.",
  })
    .default("Both")
    .describe("Where the namespace's pods may run."),
  sites: labelSelector().default({}).describe("Which virtual nodes are eligible, by their labels. Empty: all of them."),
  reflection: reflectionRules()
    .optional()
    .describe("Which objects beside pods have twins, where it is to differ from the site's own rules."),
  whenUnreachable: whenUnreachable.default({}).describe("What to do about pods at a site that does not answer."),
};
