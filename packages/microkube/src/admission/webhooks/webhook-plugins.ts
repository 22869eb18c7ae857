import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@fjord/base";
import type { MutatingWebhookConfiguration } from "@fjord/kube";
import type { Cluster } from "../../cluster.ts";
import type { ResourceType } from "../../kinds/resource-type.ts";
import { Pace } from "../../pace.ts";
import { jsonPatchSteps } from "../../patch/json-patch.ts";
import { applyDefaults, type Decoder } from "../../schema/index.ts";
import { badRequest, StatusError } from "../../status-error.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import { type AdmissionResponse, admissionReview, denial, readResponse } from "./admission-review.ts";
import { conditionsHold } from "./match-conditions.ts";
import { type Webhook, WebhookFailure } from "./webhook.ts";
import { WebhookClient, type WebhookClientOptions } from "./webhook-client.ts";
import { isExempt, versionFor } from "./webhook-match.ts";
import { WebhookSource } from "./webhook-source.ts";

type MutatingHook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];

export interface WebhookPluginsOptions extends WebhookClientOptions {
  /** Plugins that mutate and have their say again where a webhook has changed something. */
  readonly builtIn?: readonly AdmissionPlugin[];
  /** Reads what webhooks have made of objects of built-in kinds. */
  readonly decoder?: Decoder;
}

/** Mutating and validating webhooks: give both plugins to the chain, and `follow` once the cluster is there. */
export class WebhookPlugins {
  readonly #options: WebhookPluginsOptions;
  readonly #client: WebhookClient;
  readonly #mutating = new WebhookSource();
  readonly #validating = new WebhookSource();

  constructor(options: WebhookPluginsOptions = {}) {
    this.#options = options;
    this.#client = new WebhookClient(options);
  }

  /** Also for conversion webhooks. */
  get client(): WebhookClient {
    return this.#client;
  }

  readonly mutating: AdmissionPlugin = {
    name: "MutatingAdmissionWebhook",
    mutate: (request) =>
      this.#mutating.webhooks.length === 0 || isExempt(request) ? undefined : this.#mutateAll(request),
  };

  readonly validating: AdmissionPlugin = {
    name: "ValidatingAdmissionWebhook",
    validate: (request) =>
      this.#validating.webhooks.length === 0 || isExempt(request) ? undefined : this.#validateAll(request),
  };

  /** Begins to follow the configurations; returns what ends it, and all connections. */
  follow(cluster: Cluster): () => void {
    const ends = [
      this.#mutating.follow(cluster, "MutatingWebhookConfiguration"),
      this.#validating.follow(cluster, "ValidatingWebhookConfiguration"),
    ];
    return () => {
      for (const end of ends) end();
      this.#client.close();
    };
  }

  async #mutateAll(request: AdmissionRequest): Promise<void> {
    const called: Webhook[] = [];
    /** Webhooks whose object was changed after they have seen it. */
    const outdated = new Set<Webhook>();
    for (const webhook of this.#mutating.webhooks) {
      if (!(await this.#mutateBy(webhook, request, called))) continue;
      for (const earlier of called) if (earlier !== webhook) outdated.add(earlier);
    }
    if (outdated.size === 0 && called.length === 0) return;
    const before = structuredClone(request.object);
    for (const plugin of this.#options.builtIn ?? [])
      if (plugin.name !== "ResourceQuota") await plugin.mutate?.(request);
    if (!isDeepStrictEqual(before, request.object)) for (const webhook of called) outdated.add(webhook);
    // Once more, and no third time: two webhooks could go on forever.
    for (const webhook of called) {
      const isWanted = (webhook.hook as MutatingHook).reinvocationPolicy === "IfNeeded";
      if (isWanted && outdated.has(webhook)) await this.#mutateBy(webhook, request, []);
    }
  }

  /** Whether the webhook has changed the object. */
  async #mutateBy(webhook: Webhook, request: AdmissionRequest, called: Webhook[]): Promise<boolean> {
    const version = await this.#versionFor(webhook, request);
    if (version === undefined) return false;
    const { response, object } = await this.#ask(webhook, request, version, true);
    if (response === undefined) return false;
    called.push(webhook);
    if (response.patch.length === 0) return false;
    const { type } = request;
    if (object === undefined || request.object === undefined) {
      const told = `admission webhook ${JSON.stringify(webhook.hook.name)} attempted to modify the object, which is not supported for this operation`;
      throw internalError(told);
    }
    const patched = this.#read(request, await patchedBy(object, response.patch), version);
    const stored = await inVersion(type, patched, version, type.version);
    const isChanged = !isDeepStrictEqual(stored, request.object);
    replace(request.object, stored);
    if (isChanged && request.subresource === "") setDefaults(type, request.object);
    return isChanged;
  }

  /** What a webhook has made is read as if it were sent: what no schema knows is left out. */
  #read({ type, subresource }: AdmissionRequest, patched: KubeObject, version: string): KubeObject {
    if (subresource !== "" && subresource !== "status") return patched;
    if (type.read !== undefined) return type.read(patched, version).value as KubeObject;
    const { decoder } = this.#options;
    const schema = type.schema(version);
    if (decoder === undefined || schema === undefined) return patched;
    const expected = { group: type.group, version, kind: type.kind };
    try {
      return decoder.decodeParsed({ value: patched }, { expected, schema, fieldValidation: "Ignore" }).object;
    } catch (error) {
      throw internalError((error as Error).message);
    }
  }

  async #validateAll(request: AdmissionRequest): Promise<void> {
    const relevant: { webhook: Webhook; version: string }[] = [];
    for (const webhook of this.#validating.webhooks) {
      const version = await this.#versionFor(webhook, request);
      if (version !== undefined) relevant.push({ webhook, version });
    }
    const asked = relevant.map(({ webhook, version }) => this.#ask(webhook, request, version, false));
    const results = await Promise.allSettled(asked);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  async #versionFor(webhook: Webhook, request: AdmissionRequest): Promise<string | undefined> {
    const version = versionFor(webhook, request);
    if (version === undefined) return undefined;
    return (await conditionsHold(webhook, request)) ? version : undefined;
  }

  /** Throws what refuses the request; no response: the webhook has failed, and that does not matter. */
  async #ask(
    webhook: Webhook,
    request: AdmissionRequest,
    version: string,
    mutating: boolean,
  ): Promise<{ response?: AdmissionResponse; object?: KubeObject | undefined }> {
    const { hook } = webhook;
    if (request.dryRun && !["None", "NoneOnDryRun"].includes(hook.sideEffects ?? "")) {
      throw badRequest(`admission webhook ${JSON.stringify(hook.name)} does not support dry run`);
    }
    const { type } = request;
    const object = request.object && (await inVersion(type, request.object, type.version, version));
    const old = request.old && (await inVersion(type, request.old, type.version, version));
    try {
      const review = admissionReview(webhook, request, version, { object, old });
      const answer = await this.#client.call(webhook, review, request.cluster);
      const response = readResponse(review, answer, mutating);
      for (const warning of response.warnings) request.warn(warning);
      if (!response.allowed) throw denial(hook.name, response.status);
      return { response, object };
    } catch (error) {
      if (!(error instanceof WebhookFailure)) throw error;
      const told = `failed calling webhook ${JSON.stringify(hook.name)}: ${error.message}`;
      if (hook.failurePolicy !== "Ignore") throw internalError(told);
      request.cluster.logger.warn("a webhook has failed, and the request goes on", { webhook: hook.name, error: told });
      return {};
    }
  }
}

function internalError(message: string): StatusError {
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}

async function patchedBy(object: KubeObject, patch: readonly unknown[]): Promise<KubeObject> {
  const pace = new Pace();
  try {
    // A patch of many operations may be as long for a small object as a large body is.
    await pace.begin(patch.length * 100);
    return (await pace.through(jsonPatchSteps(object, patch))) as KubeObject;
  } catch (error) {
    throw internalError((error as Error).message);
  }
}

async function inVersion(type: ResourceType, object: KubeObject, from: string, to: string): Promise<KubeObject> {
  if (from === to || type.convert === undefined) return object;
  return type.convert(structuredClone(object), to);
}

/** Others hold the object: it stays the same, with other content. */
function replace(object: KubeObject, content: KubeObject): void {
  if (object === content) return;
  for (const key of Object.keys(object)) delete (object as unknown as Record<string, unknown>)[key];
  Object.assign(object, content);
}

function setDefaults(type: ResourceType, object: KubeObject): void {
  const schema = type.schema(type.version);
  if (schema !== undefined) applyDefaults(object, schema);
  type.strategy.default?.(object);
}
