import { setImmediate } from "node:timers/promises";
import { CONSUMER_LABEL, kinds, OFFLOADED_LABEL, Site, VIRTUAL_NODE } from "@fjord/api";
import { describeError, type Kind, type KubeObject } from "@fjord/base";
import {
  CoreEvent,
  CustomResourceDefinition,
  Deployment,
  type KubeClient,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
  Pod,
  Service,
} from "@fjord/kube";
import type { CommandContext } from "../command-line/command-context.ts";
import { clientVersion } from "../commands/version.ts";
import { readTail } from "./given-log.ts";
import { redactLog } from "./redact-log.ts";
import { redactObject } from "./redact-object.ts";
import { redactText } from "./redact-text.ts";

export interface CollectOptions {
  /** The agent's. */
  readonly namespace: string;
  /** Files of agents that run outside the cluster. */
  readonly logs: readonly string[];
  readonly context: Pick<CommandContext, "signal" | "note">;
}

export interface ReportFile {
  readonly name: string;
  readonly content: string;
}

const everywhere = [...kinds, Node, Namespace] as unknown as Kind<KubeObject>[];
const agents = [Deployment, Pod, Service, Lease] as unknown as Kind<KubeObject>[];
/** Secrets are never read. */
const MOST_EVENTS = 2_000;
const MOST_PODS = 1_000;
const MOST_NODES = 20;
const LOG_LINES = 5_000;
/** On nodes that are Fjord's programs. */
const RUNTIME_LABEL = "fjord.dev/runtime";
/** Where those serve what they have logged of late. */
const OWN_LOG_PATH = "logs/fjord.log";

/** What helps to find a fault, with secrets removed. What cannot be had is said in the report, and holds up nothing. */
export async function collect(client: KubeClient, options: CollectOptions): Promise<ReportFile[]> {
  const { namespace, logs, context } = options;
  const { signal } = context;
  const { stringify } = await import("yaml");
  const problems: string[] = [];
  const files: ReportFile[] = [];
  const attempt = async (name: string, make: () => Promise<string>) => {
    try {
      files.push({ name, content: await make() });
    } catch (error) {
      signal.throwIfAborted();
      problems.push(`${name}: ${redactText(describeError(error))}`);
    }
  };
  const yaml = async (value: unknown) =>
    stringify(await redactEach(JSON.parse(JSON.stringify(value)), signal), {
      lineWidth: 0,
      aliasDuplicateObjects: false,
    });
  const listed = async (kind: Kind<KubeObject>, scope: object = {}) =>
    yaml((await client.list(kind, { ...scope, signal, omitManagedFields: true })).items);
  await attempt("versions.yaml", async () => {
    const { body } = await client.raw("GET", "/version", { signal });
    const agent = await agentVersion(client, signal).catch((error: unknown) => redactText(describeError(error)));
    return yaml({ client: clientVersion(), agent, kubernetes: JSON.parse(body.toString("utf8")) });
  });
  for (const kind of everywhere) await attempt(`objects/${kind.plural}.yaml`, () => listed(kind));
  await attempt("objects/pods.yaml", async () => yaml(await podsOfConcern(client, signal)));
  for (const kind of agents) await attempt(`agent/${kind.plural}.yaml`, () => listed(kind, { namespace }));
  await attempt("agent/webhooks.yaml", async () => {
    const { items } = await client.list(MutatingWebhookConfiguration, { signal });
    return yaml(items.filter(({ metadata }) => metadata.name?.startsWith("fjord")));
  });
  await attempt("objects/definitions.yaml", async () => {
    const { items } = await client.list(CustomResourceDefinition, { signal });
    const own = items.filter(({ spec }) => spec.group === "fjord.dev");
    return yaml(
      own.map(({ metadata, status }) => ({
        name: metadata.name,
        conditions: status?.conditions,
        storedVersions: status?.storedVersions,
      })),
    );
  });
  await attempt("events.yaml", async () => {
    const { items } = await client.list(CoreEvent, { signal, omitManagedFields: true });
    return yaml(items.slice(-MOST_EVENTS));
  });
  let hasAgentLog = logs.length > 0;
  await attempt("agent/log-names.yaml", async () => {
    const { items } = await client.list(Pod, { namespace, signal });
    for (const pod of items) {
      const name = pod.metadata.name ?? "";
      hasAgentLog ||= pod.metadata.labels?.["app.kubernetes.io/component"] === "agent";
      for (const previous of [false, true])
        await attempt(`agent/${name.slice(0, 60)}${previous ? ".previous" : ""}.log`, async () => {
          const chunks: Buffer[] = [];
          for await (const chunk of client.log({ name, namespace }, { tailLines: LOG_LINES, previous, signal }))
            chunks.push(chunk);
          return await redactLog(Buffer.concat(chunks).toString("utf8"), signal);
        });
    }
    return yaml(items.map(({ metadata }) => metadata.name));
  });
  for (const name of await fjordNodes(client, signal))
    await attempt(`agent/node-${name.slice(0, 60)}.log`, async () => {
      const { body } = await client.raw("GET", `/api/v1/nodes/${name}/proxy/${OWN_LOG_PATH}`, { signal });
      hasAgentLog = true;
      return await redactLog(body.toString("utf8"), signal);
    });
  for (const [index, file] of logs.entries()) await attempt(givenName(index), () => givenLog(file, signal));
  if (!hasAgentLog) {
    problems.push(noAgentLog(namespace));
    context.note(`${noAgentLog(namespace)}\n`);
  }
  return [...files, { name: "problems.txt", content: `${problems.join("\n") || "none: all of it could be read"}\n` }];
}

/** What can be had of a site whose API does not answer. */
export async function collectWithout(
  silence: Error,
  { logs, context }: Pick<CollectOptions, "logs" | "context">,
): Promise<readonly ReportFile[]> {
  const { stringify } = await import("yaml");
  const given = logs.map(async (file, index) => ({
    name: givenName(index),
    content: await givenLog(file, context.signal),
  }));
  return [
    { name: "versions.yaml", content: stringify({ client: clientVersion() }) },
    ...(await Promise.all(given)),
    { name: "problems.txt", content: `the cluster does not answer: ${redactText(describeError(silence))}\n` },
  ];
}

function givenName(index: number): string {
  return `agent/given-${index + 1}.log`;
}

async function givenLog(file: string, signal: AbortSignal): Promise<string> {
  const { text, left } = await readTail(file, undefined, signal);
  const safe = await redactLog(text.split("\n").slice(-LOG_LINES).join("\n"), signal);
  return left === 0 ? safe : `[left out: the first ${left} bytes]\n${safe}`;
}

/** A list may be long: whoever interrupts it is heard in between. */
async function redactEach(value: unknown, signal: AbortSignal): Promise<unknown> {
  if (!Array.isArray(value)) return redactObject(value);
  const safe: unknown[] = [];
  for (const each of value) {
    safe.push(redactObject(each));
    await setImmediate();
    signal.throwIfAborted();
  }
  return safe;
}

/** A process that is no pod writes to its standard error, and only its owner knows where that leads. */
function noAgentLog(namespace: string): string {
  return `the agent's log is not in it: there is no pod of an agent in namespace ${namespace}, and no node of Fjord's that serves it. Add the file that the agent writes to: --log FILE`;
}

async function agentVersion(client: KubeClient, signal: AbortSignal): Promise<object | string> {
  const { items } = await client.list(Site, { signal });
  const own = items.find(({ status }) => status?.role === "Self");
  if (own === undefined) return "no agent has introduced itself here";
  return { site: own.metadata.name, version: own.status?.published?.version ?? "unknown" };
}

/** Pods that Fjord has a part in: of offloaded namespaces, on virtual nodes, and of other sites. */
async function podsOfConcern(client: KubeClient, signal: AbortSignal): Promise<Pod[]> {
  const [namespaces, nodes, pods] = await Promise.all([
    client.list(Namespace, { labelSelector: `${OFFLOADED_LABEL}=true`, signal }),
    client.list(Node, { labelSelector: `${VIRTUAL_NODE}=true`, signal }),
    client.list(Pod, { signal, omitManagedFields: true }),
  ]);
  const names = (objects: readonly KubeObject[]) => new Set(objects.map(({ metadata }) => metadata.name));
  const [offloaded, virtual] = [names(namespaces.items), names(nodes.items)];
  const concern = pods.items.filter(
    ({ metadata, spec }) =>
      offloaded.has(metadata.namespace) ||
      virtual.has(spec?.nodeName) ||
      metadata.labels?.[CONSUMER_LABEL] !== undefined,
  );
  return concern.slice(0, MOST_PODS);
}

/** A site in one process (`fjord micro`) has its log served by its node, which has a label of its own. */
async function fjordNodes(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  try {
    const { items } = await client.list(Node, { labelSelector: RUNTIME_LABEL, signal });
    return items.flatMap(({ metadata }) => metadata.name ?? []).slice(0, MOST_NODES);
  } catch {
    signal.throwIfAborted();
    // That nodes cannot be listed is told above.
    return [];
  }
}
