import { array, enumeration, formatted, object } from "../schema/index.ts";

/** Which objects beside pods have twins, kind by kind. */
export function reflectionRules() {
  return array(rule, { maxItems: 64, keys: ["group", "resource"] });
}

const rule = object({
  group: formatted({
    name: "API group",
    maxLength: 253,
    pattern: "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$",
    words: "must be an API group, such as networking.k8s.io, or empty for the core group",
  })
    .default("")
    .describe("API group of the kind; empty for the core group."),
  resource: formatted({
    name: "resource name",
    maxLength: 63,
    pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$",
    words: "must be the plural name of a kind in lower case, such as configmaps",
  }).describe("Plural name of the kind, such as `configmaps`."),
  policy: enumeration({
    DenyList: "every object but those annotated fjord.dev/reflect=false.",
    AllowList: "only objects annotated fjord.dev/reflect=true.",
    Never: "none, whatever the annotation says.",
  })
    .default("DenyList")
    .describe("Which objects of the kind have twins."),
  direction: enumeration({
    Outward: "objects here have twins at the provider.",
    Inward: "objects in the twin namespace have twins here.",
    Both: "as Outward, and the twin's status comes back.",
  })
    .optional()
    .describe("Where the original is. For custom resources only, and Outward where it is left out."),
}).rule(
  "!has(self.direction) || !(self.group in ['', 'discovery.k8s.io', 'events.k8s.io', 'networking.k8s.io', 'policy'])",
  "is fixed for built-in kinds: leave it out, or name a custom resource by its group",
  ".direction",
);
