import { readFile } from "node:fs/promises";
import { kinds } from "@fjord/api";
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
import { redactObject, redactText } from "./redact.ts";

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
const LOG_LINES = 5_000;

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
  const yaml = (value: unknown) =>
    stringify(redactObject(JSON.parse(JSON.stringify(value))), { lineWidth: 0, aliasDuplicateObjects: false });
  const listed = async (kind: Kind<KubeObject>, scope: object = {}) =>
    yaml((await client.list(kind, { ...scope, signal, omitManagedFields: true })).items);
  await attempt("versions.yaml", async () => {
    const { body } = await client.raw("GET", "/version", { signal });
    return yaml({ client: clientVersion(), kubernetes: JSON.parse(body.toString("utf8")) });
  });
  for (const kind of everywhere) await attempt(`objects/${kind.plural}.yaml`, () => listed(kind));
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
  await attempt("agent/log-names.yaml", async () => {
    const { items } = await client.list(Pod, { namespace, signal });
    for (const pod of items) {
      const name = pod.metadata.name ?? "";
      for (const previous of [false, true])
        await attempt(`agent/${name.slice(0, 60)}${previous ? ".previous" : ""}.log`, async () => {
          const chunks: Buffer[] = [];
          for await (const chunk of client.log({ name, namespace }, { tailLines: LOG_LINES, previous, signal }))
            chunks.push(chunk);
          return redactText(Buffer.concat(chunks).toString("utf8"));
        });
    }
    return yaml(items.map(({ metadata }) => metadata.name));
  });
  for (const [index, file] of logs.entries())
    await attempt(`agent/given-${index + 1}.log`, async () =>
      redactText((await readFile(file, "utf8")).split("\n").slice(-LOG_LINES).join("\n")),
    );
  return [...files, { name: "problems.txt", content: `${problems.join("\n") || "none: all of it could be read"}\n` }];
}
