import { GUEST_PRIVILEGES } from "@fjord/api";
import { defaultValues, type InstallValues } from "./install-values.ts";

/** As much of JSON Schema as values of an installation need. */
export interface ValueSchema {
  readonly description?: string;
  readonly type: "object" | "array" | "string" | "integer" | "boolean";
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: ValueSchema;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly additionalProperties?: boolean | ValueSchema;
}

const text = (description: string, more: Partial<ValueSchema> = {}): ValueSchema => ({
  description,
  type: "string",
  ...more,
});
const object = (description: string, properties: Record<string, ValueSchema>): ValueSchema => ({
  description,
  type: "object",
  additionalProperties: false,
  properties,
});
const list = (description: string, items: ValueSchema): ValueSchema => ({ description, type: "array", items });
const anything: ValueSchema = { type: "object", additionalProperties: true };

const properties: Readonly<Record<keyof InstallValues, ValueSchema>> = {
  siteName: text("Name of the site, such as lively-wave. Empty: one made of its id.", {
    pattern: "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$",
  }),
  tier: text("What sort of place it is. Empty: not said.", { enum: ["", "cloud", "edge", "device"] }),
  endpoints: list("Where agents of other sites reach this one. None: it cannot be dialled, and dials out itself.", {
    description: "An address such as https://wave.example:7443.",
    type: "string",
    pattern: "^https://[^/@]+(/.*)?$",
  }),
  image: object("The image of the agent: build it with the Dockerfile and push it where your nodes can pull it.", {
    repository: text("Registry and name."),
    tag: text("Version."),
    pullPolicy: text("When nodes pull it.", { enum: ["Always", "IfNotPresent", "Never"] }),
  }),
  imagePullSecrets: list("Secrets in the agent's namespace to pull it with.", object("", { name: { type: "string" } })),
  replicas: {
    description: "Agents. One leads, the others serve peers and admission and take over.",
    type: "integer",
    minimum: 1,
    maximum: 9,
  },
  service: object("The Service that agents of other sites come in by.", {
    type: text("How it is reached from outside.", { enum: ["ClusterIP", "NodePort", "LoadBalancer"] }),
    port: { description: "Its port.", type: "integer", minimum: 1, maximum: 65_535 },
  }),
  networkPolicy: object("Who may reach the agent.", {
    enabled: { description: "Whether to restrict it.", type: "boolean" },
  }),
  resources: { ...anything, description: "What the agent's container asks for." },
  nodeSelector: {
    description: "Nodes that the agent may run on.",
    type: "object",
    additionalProperties: { type: "string" },
  },
  tolerations: list("Taints that it bears.", anything),
  guestPrivileges: list("What guests may have here beyond Kubernetes' baseline; see docs/peering.md.", {
    type: "string",
    enum: GUEST_PRIVILEGES,
  }),
  extraArgs: list("More options of `fjord-agent run`.", { type: "string" }),
  crds: object("Fjord's kinds.", {
    install: {
      description: "Whether to install them. They go with the release, and all objects of these kinds with them.",
      type: "boolean",
    },
  }),
  gateway: object("What carries links to pods of peers, as root on nodes' own networks; see docs/network.md.", {
    enabled: { description: "Whether to run it.", type: "boolean" },
    nodeLabel: text(
      "Label of the nodes that may carry links, such as fjord.dev/gateway; the others lead their pods to these, and never see the key. Empty: all nodes may.",
      { pattern: "^(([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$" },
    ),
    endpoint: text(
      "Where peers reach the node that carries links: host and port, over UDP. $(NODE_IP) and $(NODE_NAME) stand for that node's. Empty: as spec.network of the Site says.",
      { pattern: "^([^\\s,]+:[0-9]{1,5})?$" },
    ),
    metrics: object(
      "Its metrics, for whoever reaches the node: names of peers and numbers, no addresses and no keys.",
      {
        enabled: {
          description:
            "Whether to serve them at port 7449 of the node's address, with Prometheus' customary annotations. Else on the node's loopback alone.",
          type: "boolean",
        },
      },
    ),
    resources: { ...anything, description: "What its container asks for." },
    tolerations: list("Taints that it bears.", anything),
    extraArgs: list("More options of `fjord-agent gateway run`, such as --tunnel.", { type: "string" }),
  }),
};

/** What values may be: for Helm as it is, and for `fjord init --values`. */
export const valuesSchema: ValueSchema = { type: "object", additionalProperties: false, properties };

/** The values that were given, with those of `base` for the rest. Throws a text that says which one is wrong. */
export function readValues(given: unknown, base: InstallValues = defaultValues): InstallValues {
  const wrong = faultIn(given ?? {}, valuesSchema, "");
  if (wrong !== undefined) throw new Error(wrong);
  return merged(base, given ?? {}) as InstallValues;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
  const names = [...new Set([...Object.keys(base), ...Object.keys(over)])];
  return Object.fromEntries(names.map((name) => [name, merged(base[name], over[name])]));
}

function faultIn(value: unknown, schema: ValueSchema, path: string): string | undefined {
  const at = path === "" ? "the values" : path;
  const is = Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  if (is !== schema.type || value === null) return `${at} must be of type ${schema.type}`;
  if (typeof value === "string") {
    if (schema.enum !== undefined && !schema.enum.includes(value))
      return `${at} must be one of ${schema.enum.map((each) => each || '""').join(", ")}`;
    if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
      return `${at} cannot be ${JSON.stringify(value)}${schema.description === undefined ? "" : `. ${schema.description}`}`;
  }
  if (typeof value === "number") {
    const { minimum = value, maximum = value } = schema;
    if (value < minimum || value > maximum) return `${at} must be ${minimum} to ${maximum}`;
  }
  const { items } = schema;
  if (Array.isArray(value))
    return items && firstOf(value.map((each, index) => faultIn(each, items, `${path}[${index}]`)));
  if (!isObject(value)) return undefined;
  return firstOf(
    Object.entries(value).map(([name, each]) => {
      const inner = path === "" ? name : `${path}.${name}`;
      const known = schema.properties?.[name] ?? schema.additionalProperties;
      if (known === undefined || known === false)
        return `there is no value ${inner}; there are ${Object.keys(schema.properties ?? {}).join(", ")}`;
      return known === true ? undefined : faultIn(each, known, inner);
    }),
  );
}

function firstOf(faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
