import {
  array,
  boolean,
  duration,
  enumeration,
  labelKey,
  labels,
  labelValue,
  object,
  opaque,
} from "../schema/index.ts";

/** What an owner may say about a virtual node; in a Peering and in the VirtualNode made from it. */
export const virtualNodeTemplate = {
  labels: labels({ maxProperties: 64 })
    .optional()
    .describe("Labels of the Node beside those that the provider's properties give it."),
  taints: array(
    object({
      key: labelKey().describe("The taint's name, such as `example.com/metered`."),
      value: labelValue().optional().describe("The taint's value."),
      effect: enumeration({
        NoSchedule: "pods that do not tolerate it are not placed.",
        PreferNoSchedule: "the scheduler avoids it where it can.",
        NoExecute: "running pods that do not tolerate it are evicted too.",
      }).describe("What it does to pods that do not tolerate it."),
    }),
    { maxItems: 32, keys: ["key", "effect"] },
  )
    .optional()
    .describe("Taints of the Node beside the one that all virtual nodes carry."),
  tainted: boolean()
    .default(true)
    .describe(
      "Whether the Node carries the taint fjord.dev/virtual-node, which keeps pods of namespaces without an Offloading away. A site whose nodes are all virtual can do without.",
    ),
  podPatch: object({
    metadata: opaque().optional().describe("What to merge into the pod's metadata: labels and annotations."),
    spec: opaque().optional().describe("What to merge into the pod's spec, such as nodeSelector or runtimeClassName."),
  })
    .optional()
    .describe("A strategic merge patch for every pod that goes to the provider through this node."),
  unreachableAfter: duration({ minimum: "500ms" })
    .default("2s")
    .describe("How long the provider must be silent before the Node is NotReady. A shorter glitch moves nothing."),
};
