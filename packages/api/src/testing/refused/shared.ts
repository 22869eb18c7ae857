import type { Row } from "./refusal.ts";

export const aSiteId = "abcdefghijklmnopqrstuvwxyz";
export const notASiteId = "must be a site id: 26 characters out of a-z and 2-7, as in status.id of a Site";
export const notAName = "must be a name of at most 63 characters a-z, 0-9 and '-', such as shop-staging";
const notALabelKey = "must be a label key, such as gpu or example.com/gpu";
const notALabelValue =
  "must be a label value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";
const notWhole = "pods, and resources with a prefix such as example.com/gpu, must be whole numbers";
const notAQuantity = "must be a quantity that is not negative, such as 2, 500m or 4Gi";

/** The spec with a value at a path such as `spec.sharing.resources`. */
function at(path: string, value: unknown): object {
  return path.split(".").reduceRight<unknown>((below, name) => ({ [name]: below }), value) as object;
}

/** What no amounts at `path` may be. */
export function amounts(path: string): Row[] {
  return [
    ["a negative number", at(path, { cpu: -1 }), `${path}[cpu]`, notAQuantity],
    ["a negative amount", at(path, { cpu: "-500m" }), `${path}[cpu]`, notAQuantity],
    ["an amount in words", at(path, { memory: "lots" }), `${path}[memory]`, notAQuantity],
    ["an amount with a wrong unit", at(path, { memory: "4GB" }), `${path}[memory]`, notAQuantity],
    [
      "a resource with a strange name",
      at(path, { "c p u": 1 }),
      path,
      "every resource must be named as Kubernetes names them, such as cpu or example.com/gpu",
    ],
    ["a part of a pod", at(path, { pods: "1.5" }), path, notWhole],
    ["thousandths of a pod", at(path, { pods: "1500m" }), path, notWhole],
    ["half a device", at(path, { "example.com/gpu": "500m" }), path, notWhole],
    ["an amount beyond all bounds", at(path, { memory: "1e9999999999" }), `${path}[memory]`, notAQuantity],
    [
      "a resource with a prefix that is too long",
      at(path, { [`${"a".repeat(254)}/gpu`]: 1 }),
      path,
      "every resource must be named as Kubernetes names them, such as cpu or example.com/gpu",
    ],
    [
      "too many resources",
      at(path, Object.fromEntries(Array.from({ length: 13 }, (_, i) => [`example.com/r${i}`, 1]))),
      path,
      "must have at most 12 items",
    ],
  ];
}

/** What no labels at `path` may be. */
export function labels(path: string): Row[] {
  return [
    ["a label value with a space", at(path, { gpu: "yes, two" }), `${path}[gpu]`, notALabelValue],
    [
      "a label key with a prefix that is too long",
      at(path, { [`${"a".repeat(254)}/gpu`]: "x" }),
      path,
      "every key must be a label key, such as gpu or example.com/gpu",
    ],
    [
      "a label key with a space",
      at(path, { "two words": "x" }),
      path,
      "every key must be a label key, such as gpu or example.com/gpu",
    ],
  ];
}

/** What no label selector at `path` may be. */
export function selectors(path: string): Row[] {
  const words = "In and NotIn need at least one of values; Exists and DoesNotExist take none";
  const expression = (value: object) => at(path, { matchExpressions: [{ key: "tier", ...value }] });
  const field = `${path}.matchExpressions[0]`;
  return [
    ...labels(`${path}.matchLabels`),
    ["a key that is no label's", expression({ key: "bad key!\nü", operator: "Exists" }), `${field}.key`, notALabelKey],
    ["an empty key", expression({ key: "", operator: "Exists" }), `${field}.key`, notALabelKey],
    [
      "a key with a prefix that is too long",
      expression({ key: `${"a".repeat(254)}/gpu`, operator: "Exists" }),
      `${field}.key`,
      notALabelKey,
    ],
    [
      "a value that no label can have",
      expression({ operator: "In", values: ["edge", "bad value!\nü"] }),
      `${field}.values[1]`,
      notALabelValue,
    ],
    ["In without values", expression({ operator: "In" }), field, words],
    ["NotIn with no value", expression({ operator: "NotIn", values: [] }), field, words],
    ["Exists with values", expression({ operator: "Exists", values: ["edge"] }), field, words],
  ];
}

/** What no reflection rules at `path` may be. */
export function reflections(path: string): Row[] {
  return [
    [
      "a direction for a built-in kind",
      at(path, [{ resource: "configmaps", direction: "Both" }]),
      `${path}[0].direction`,
      "is fixed for built-in kinds: leave it out, or name a custom resource by its group",
    ],
    [
      "two rules for one kind",
      at(path, [{ resource: "secrets" }, { resource: "secrets", policy: "Never" }]),
      `${path}[1]`,
      "Duplicate value",
    ],
    [
      "a kind in the singular with a capital",
      at(path, [{ resource: "ConfigMap" }]),
      `${path}[0].resource`,
      "must be the plural name of a kind in lower case, such as configmaps",
    ],
    [
      "a group that is none",
      at(path, [{ group: "Apps/v1", resource: "deployments" }]),
      `${path}[0].group`,
      "must be an API group, such as networking.k8s.io, or empty for the core group",
    ],
  ];
}

/** What no offloading at `path` may say. */
export function offloadings(path: string): Row[] {
  const unused = "is needed with strategy: Chosen, and has no meaning with the others";
  return [
    ["Chosen without a name", at(path, { naming: { strategy: "Chosen" } }), `${path}.naming.name`, unused],
    ["a name that is not used", at(path, { naming: { name: "shop-remote" } }), `${path}.naming.name`, unused],
    [
      "a name that is none",
      at(path, { naming: { strategy: "Chosen", name: "Shop" } }),
      `${path}.naming.name`,
      notAName,
    ],
    ["an unknown place", at(path, { pods: "Anywhere" }), `${path}.pods`, 'supported values: "Local", "Remote", "Both"'],
    ...selectors(`${path}.sites`),
    ...reflections(`${path}.reflection`),
    [
      "keeping pods for a while",
      at(path, { whenUnreachable: { action: "Keep", after: "5m" } }),
      `${path}.whenUnreachable.after`,
      "has no meaning with action: Keep",
    ],
    [
      "evicting at once",
      at(path, { whenUnreachable: { after: "0s" } }),
      `${path}.whenUnreachable.after`,
      "must be a duration of at least 1s, such as 90s or 1h30m",
    ],
  ];
}

/** What no virtual node described at `path` may be. */
export function virtualNodes(path: string): Row[] {
  return [
    ...labels(`${path}.labels`),
    [
      "a taint with an unknown effect",
      at(path, { taints: [{ key: "metered", effect: "NoWay" }] }),
      `${path}.taints[0].effect`,
      'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    [
      "a taint with a strange key",
      at(path, { taints: [{ key: "bad key!", effect: "NoExecute" }] }),
      `${path}.taints[0].key`,
      notALabelKey,
    ],
    [
      "a taint with a strange value",
      at(path, { taints: [{ key: "metered", value: "ü", effect: "NoExecute" }] }),
      `${path}.taints[0].value`,
      notALabelValue,
    ],
    [
      "a taint twice",
      at(path, { taints: Array(2).fill({ key: "a", effect: "NoExecute" }) }),
      `${path}.taints[1]`,
      "Duplicate value",
    ],
    [
      "a patch that is no object",
      at(path, { podPatch: { spec: "x" } }),
      `${path}.podPatch.spec`,
      "must be of type object",
    ],
    [
      "no patience at all",
      at(path, { unreachableAfter: "100ms" }),
      `${path}.unreachableAfter`,
      "must be a duration of at least 500ms, such as 90s or 1h30m",
    ],
  ];
}
