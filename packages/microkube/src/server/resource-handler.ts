import type { KubeObject } from "@fjord/base";
import type { Caller } from "../cluster.ts";
import type { ResourceType, Subresource } from "../kinds/resource-type.ts";
import { readPatchSteps } from "../patch/index.ts";
import { admissionRequest, mutate, validate } from "../registry/admission-chain.ts";
import {
  contextOf,
  type Operation,
  parseRevision,
  type Registry,
  type Selection,
  selectionOf,
  tooLarge,
  type Written,
} from "../registry/index.ts";
import type { BuiltInResource, Decoder, GoTypes, Schemas } from "../schema/index.ts";
import { badRequest, methodNotAllowed, notFound, StatusError } from "../status-error.ts";
import type { StoredObject } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import { sendList } from "./list-answer.ts";
import { checkListParameters } from "./list-parameters.ts";
import { type AnswerForm, answerForm } from "./media-type.ts";
import { deleteOptions, whole, writeOptions } from "./options.ts";
import { patched, patchKindOf } from "./patching.ts";
import { type Rendering, renderingOf, shown } from "./rendering.ts";
import { type ExpectedObject, readObject, readOptions, readPatched } from "./request-body.ts";
import { isTrue, type ResourceTarget } from "./request-target.ts";
import type { IncludedObject } from "./table.ts";
import { FrameCache } from "./watch-frame.ts";
import { WatchOutbox } from "./watch-outbox.ts";
import { WatchStream } from "./watch-stream.ts";

export interface ResourceHandlerOptions {
  readonly registry: Registry;
  readonly decoder: Decoder;
  readonly goTypes: GoTypes;
  readonly schemas: Schemas;
  /** What Kubernetes' discovery tells: which kind a subresource takes. */
  readonly resources: readonly BuiltInResource[];
  /** Where `connect` subresources go. */
  readonly connect: (exchange: Exchange, type: ResourceType, target: ResourceTarget) => Promise<void>;
}

const SHAPES = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"];

/** Who answers with the object itself when it is deleted; the others answer with a Status. */
const returnsDeleted = new Set([
  ...["pods", "services", "namespaces", "serviceaccounts", "resourcequotas", "podtemplates", "persistentvolumes"],
  ...["persistentvolumeclaims", "storageclasses.storage.k8s.io", "volumeattachments.storage.k8s.io"],
  ...["csidrivers.storage.k8s.io", "csinodes.storage.k8s.io", "volumeattributesclasses.storage.k8s.io"],
  ...["resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io", "resourceslices.resource.k8s.io"],
  "deviceclasses.resource.k8s.io",
]);

/** What is said with every answer about kinds that have been superseded. */
const superseded: Readonly<Record<string, string>> = {
  "/v1/endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  "/v1/componentstatuses": "v1 ComponentStatus is deprecated in v1.19+",
};

interface Request {
  readonly exchange: Exchange;
  readonly target: ResourceTarget;
  readonly type: ResourceType;
  readonly caller: Caller;
  readonly form: AnswerForm;
  readonly rendering: Rendering;
}

/** Requests for resources, once it is settled who asks and that they may. */
export class ResourceHandler {
  readonly #options: ResourceHandlerOptions;
  readonly #registry: Registry;
  readonly #frames = new FrameCache();
  readonly #outbox = new WatchOutbox();
  readonly #watches = new Set<WatchStream>();
  /** By `pods/binding`, with group and version before it. */
  readonly #subresourceKinds = new Map<string, ExpectedObject>();

  constructor(options: ResourceHandlerOptions) {
    this.#options = options;
    this.#registry = options.registry;
    for (const { group, version, plural, subresources } of options.resources) {
      for (const { name, ...of } of subresources) {
        this.#subresourceKinds.set(`${group}/${version}/${plural}/${name}`, of);
      }
    }
  }

  async handle(exchange: Exchange, target: ResourceTarget, type: ResourceType, caller: Caller): Promise<void> {
    const { subresource, name } = target;
    const sub = Object.hasOwn(type.subresources, subresource) ? type.subresources[subresource] : undefined;
    if (subresource !== "" && sub === undefined) throw pathNotFound();
    checkScope(type, target);
    checkVerb(type, sub, target);
    const warning = superseded[`${target.group}/${target.version}/${target.resource}`];
    if (warning !== undefined) exchange.warn(warning);
    if (sub?.type === "connect") return this.#options.connect(exchange, type, target);
    // What is answered and not kept has no other shape.
    const shapes = type.act !== undefined || sub?.type === "action" ? [] : SHAPES;
    const form = answerForm(exchange.request.headers.accept, shapes);
    const included = includedObject(exchange.query);
    const rendering = renderingOf(this.#registry, shownType(type, sub), target.version, form, included);
    const request: Request = { exchange, target, type, caller, form, rendering };
    if (sub?.type === "action") return this.#act(request, sub);
    switch (target.verb) {
      case "get":
        return this.#get(request, sub);
      case "list":
        return this.#list(request);
      case "watch":
        return this.#watch(request);
      case "create":
        if (name !== "" && sub === undefined) throw methodNotAllowed(type, "create");
        return this.#create(request);
      case "update":
        return this.#update(request, sub);
      case "patch":
        return this.#patch(request, sub);
      case "delete":
        return this.#delete(request);
      case "deletecollection":
        return this.#deleteCollection(request);
      default:
        throw methodNotAllowed(type, target.verb);
    }
  }

  /** Ends all watches in good order. */
  close(): void {
    for (const watch of this.#watches) watch.end();
  }

  get watches(): number {
    return this.#watches.size;
  }

  async #get({ exchange, target, type, form, rendering }: Request, sub: Subresource | undefined): Promise<void> {
    const { namespace, name, version } = target;
    const wanted = exchange.query.get("resourceVersion") ?? "";
    if (wanted !== "" && wanted !== "0") {
      const revision = parseRevision(wanted);
      if (revision > this.#registry.store.revision) throw tooLarge(revision, this.#registry.store.revision);
    }
    if (type.compute !== undefined) {
      const found = type.compute(this.#registry).find((one) => one.metadata.name === name);
      if (found === undefined) throw notFound(type, name);
      return exchange.sendJson(200, await rendering.textOf(found), form);
    }
    const stored = this.#registry.require(type, namespace, name);
    if (sub?.type === "view" && sub.read !== undefined) {
      const object = sub.read(await shown(this.#registry, type, version, stored));
      return exchange.sendJson(200, await viewText(object, form, rendering), form);
    }
    const text = rendering.text(stored);
    return exchange.sendJson(200, typeof text === "string" ? text : await text, form);
  }

  async #list({ exchange, target, type, form, rendering }: Request): Promise<void> {
    const { query } = exchange;
    checkListParameters(query, false);
    if (type.compute !== undefined) return this.#listComputed(exchange, type, form, rendering);
    const page = await this.#registry.listObjects({
      type,
      namespace: target.namespace,
      selection: this.#selection(type, target, query),
      limit: Math.max(0, whole(query.get("limit") || "0")),
      continueToken: query.get("continue") ?? "",
      resourceVersion: query.get("resourceVersion") ?? "",
      resourceVersionMatch: query.get("resourceVersionMatch") ?? "",
    });
    return sendList(exchange, page, rendering, form);
  }

  async #listComputed(exchange: Exchange, type: ResourceType, form: AnswerForm, rendering: Rendering): Promise<void> {
    const [before, after] = rendering.around({ resourceVersion: "" });
    const objects = type.compute?.(this.#registry) ?? [];
    const items = objects.map((object): StoredObject => {
      const key = object.metadata.name ?? "";
      return { key, revision: 0, json: JSON.stringify(object), labels: {}, fields: {} };
    });
    const texts = await Promise.all(items.map((item) => rendering.item(item)));
    return exchange.sendJson(200, before + texts.join(",") + after, form);
  }

  async #watch({ exchange, target, type, rendering }: Request): Promise<void> {
    const { query } = exchange;
    checkListParameters(query, true);
    const text = query.get("resourceVersion") ?? "";
    const timeout = whole(query.get("timeoutSeconds") || "0");
    const selectors = this.#selection(type, target, query, target.name);
    const { clock, random, logger } = this.#registry;
    const stream = new WatchStream(
      exchange,
      {
        type,
        version: target.version,
        namespace: target.namespace,
        selection: selectors,
        revision: text === "" ? undefined : parseRevision(text),
        bookmarks: isTrue(query.get("allowWatchBookmarks")),
        sendInitialEvents: isTrue(query.get("sendInitialEvents")),
        timeoutMs: timeout > 0 ? timeout * 1000 : undefined,
      },
      rendering,
      { registry: this.#registry, frames: this.#frames, outbox: this.#outbox, clock, random, logger },
    );
    this.#watches.add(stream);
    exchange.response.on("close", () => this.#watches.delete(stream));
    stream.start();
  }

  async #create(request: Request): Promise<void> {
    const { exchange, type, form } = request;
    const options = writeOptions("CreateOptions", exchange.query, exchange.request.headers["user-agent"]);
    const operation = this.#operation(request, options);
    const body = await exchange.body();
    const object = await this.#read(request, body, options);
    this.#note(exchange, operation, object);
    if (type.act !== undefined) {
      const context = contextOf(this.#registry, operation);
      return exchange.sendObject(201, await type.act({ ...context, body: object }), form);
    }
    await this.#answer(request, 201, await this.#registry.createObject(operation, object));
  }

  async #update(request: Request, sub: Subresource | undefined): Promise<void> {
    const { exchange, target, type } = request;
    const options = writeOptions("UpdateOptions", exchange.query, exchange.request.headers["user-agent"]);
    const body = await exchange.body();
    const read = () => this.#read(request, body, options, sub);
    let sent: KubeObject | undefined = await read();
    const operation = this.#operation(request, options);
    this.#note(exchange, operation, sent);
    const written = await this.#registry.changeObject(operation, {
      name: target.name,
      createsIfMissing: sub === undefined && type.strategy.createsOnUpdate === true,
      next() {
        // Each attempt has an object of its own; nearly always there is one only.
        const own = sent ?? read();
        sent = undefined;
        return own;
      },
    });
    await this.#answer(request, written.created ? 201 : 200, written, sub);
  }

  async #patch(request: Request, sub: Subresource | undefined): Promise<void> {
    const { exchange, target, type } = request;
    const { headers } = exchange.request;
    const kind = patchKindOf(headers["content-type"], this.#registry.types.isCustom(type));
    const isApply = kind === "apply";
    const options = writeOptions("PatchOptions", exchange.query, headers["user-agent"], isApply);
    const read = await exchange.pace.through(readPatchSteps(await exchange.body(), kind));
    const { patch } = read;
    exchange.audit?.requestedPatch(patch);
    const operation = this.#operation(request, options);
    const expected = this.#expected(request, sub);
    const { fieldValidation } = options;
    const warned = new Set<string>();
    const written = await this.#registry.changeObject(operation, {
      name: target.name,
      createsIfMissing: isApply && sub === undefined,
      managed: isApply,
      next: async (old) => {
        const wanted = await patched(
          this.#registry,
          operation,
          { kind, patch, force: options.force ?? false },
          old,
          expected,
        );
        await exchange.pace.rest();
        const of = { ...expected, fieldValidation };
        const next = readPatched(this.#options.decoder, wanted, read, of, (text) => warned.add(text));
        // A patch that names no version is of whichever there is.
        if (!namesVersion(patch)) setVersion(next, old?.metadata.resourceVersion);
        return next;
      },
    });
    for (const text of warned) exchange.warn(text);
    await this.#answer(request, written.created ? 201 : 200, written, sub);
  }

  async #delete(request: Request): Promise<void> {
    const { exchange, target, type, form, rendering } = request;
    const { options, operation } = await this.#readDeletion(request);
    const { object, stored, isGone, wasPending } = await this.#registry.deleteObject(operation, target.name, options);
    const code = !isGone && options.orphanDependents === false ? 202 : 200;
    const qualified = type.group === "" ? type.plural : `${type.plural}.${type.group}`;
    if (returnsDeleted.has(qualified) || (!isGone && !wasPending)) {
      const text = await (stored === undefined ? rendering.textOf(object) : rendering.text(stored));
      return exchange.sendJson(code, text, form);
    }
    const { name = "", uid = "" } = object.metadata;
    const details = { name, ...(type.group !== "" && { group: type.group }), kind: type.plural, uid };
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
    return exchange.sendObject(code, status, { format: form.format });
  }

  async #deleteCollection(request: Request): Promise<void> {
    const { exchange, target, type, form, rendering } = request;
    const { query } = exchange;
    checkListParameters(query, false);
    const { options, operation } = await this.#readDeletion(request);
    const page = await this.#registry.listObjects({
      type,
      namespace: target.namespace,
      selection: this.#selection(type, target, query),
      limit: Math.max(0, whole(query.get("limit") || "0")),
      continueToken: query.get("continue") ?? "",
    });
    const deletion = async (stored: (typeof page.items)[number]): Promise<void> => {
      const { namespace = "", name = "" } = this.#registry.parse(stored).metadata;
      try {
        await this.#registry.deleteObject({ ...operation, namespace }, name, options);
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 404)) throw error;
      }
    };
    // Those of one turn are written together; others are answered between the turns.
    for (let at = 0; at < page.items.length; at += DELETED_AT_ONCE) {
      const some = page.items.slice(at, at + DELETED_AT_ONCE);
      await exchange.pace.begin(some.length * TYPICAL_SIZE);
      await Promise.all(some.map(deletion));
    }
    return sendList(exchange, page, rendering, form);
  }

  async #act(request: Request, sub: Extract<Subresource, { type: "action" }>): Promise<void> {
    const { exchange, target } = request;
    const isRead = target.verb === "get";
    const options = writeOptions("CreateOptions", exchange.query, exchange.request.headers["user-agent"]);
    const operation = this.#operation(request, options);
    const body = isRead ? undefined : await this.#read(request, await exchange.body(), options, sub);
    if (body !== undefined) exchange.audit?.requested(body);
    const context = contextOf(this.#registry, operation);
    const settle = body === undefined ? () => {} : await this.#admitAction(operation, target.name, body);
    let answer: KubeObject;
    try {
      answer = await sub.act({ ...context, name: target.name, body });
    } catch (error) {
      settle(false);
      throw error;
    }
    settle(true);
    await exchange.sendObject(isRead || target.verb === "update" ? 200 : 201, answer, request.form);
  }

  /** An action is a creation of what it is asked by: a token, a binding, an eviction. */
  async #admitAction(operation: Operation, name: string, object: KubeObject): Promise<(succeeded: boolean) => void> {
    const of = { operation: "CREATE", name, object, old: undefined } as const;
    const request = admissionRequest(this.#registry, operation, of);
    await mutate(this.#registry.plugins, request);
    return await validate(this.#registry.plugins, request);
  }

  async #answer(
    { exchange, target, type, form, rendering }: Request,
    code: number,
    { object, stored }: Written,
    sub?: Subresource,
  ): Promise<void> {
    if (sub?.type === "view" && sub.read !== undefined) {
      const own = stored === undefined ? object : await shown(this.#registry, type, target.version, stored);
      return exchange.sendJson(code, await viewText(sub.read(own), form, rendering), form);
    }
    const text = stored === undefined ? rendering.textOf(object) : rendering.text(stored);
    return exchange.sendJson(code, typeof text === "string" ? text : await text, form);
  }

  /** What was asked for, as the real server writes it down: with defaults. */
  #note({ audit }: Exchange, operation: Operation, object: KubeObject): void {
    audit?.requested(audit.wantsRequest ? this.#registry.defaulted(operation, object) : object);
  }

  #operation(
    { exchange, target, type, caller }: Request,
    options: { dryRun: boolean; fieldManager: string; sent: Record<string, unknown> },
  ): Operation {
    const { version, namespace, subresource } = target;
    const { dryRun, fieldManager, sent } = options;
    const warn = (text: string) => exchange.warn(text);
    const { pace } = exchange;
    return { type, version, namespace, subresource, caller, dryRun, fieldManager, options: sent, warn, pace };
  }

  #expected({ target, type }: Request, sub: Subresource | undefined) {
    const { group, kind, plural } = type;
    const { version, subresource } = target;
    const own = type.read ? { read: type.read } : {};
    if (sub === undefined) return { expected: { group, version, kind }, schema: type.schema(version), ...own };
    const named = sub.type === "connect" ? undefined : sub.kind;
    const told = this.#subresourceKinds.get(`${group}/${version}/${plural}/${subresource}`);
    const { group: ofGroup, version: ofVersion, kind: ofKind } = named ?? told ?? { group, version, kind };
    const expected = { group: ofGroup, version: ofVersion, kind: ofKind };
    const isOwn = expected.group === group && expected.kind === kind;
    return isOwn
      ? { expected, schema: type.schema(version), ...own }
      : { expected, schema: this.#options.schemas.of(expected) };
  }

  #read(
    request: Request,
    body: Buffer,
    { fieldValidation }: { fieldValidation: "Strict" | "Warn" | "Ignore" },
    sub?: Subresource,
  ): Promise<KubeObject> {
    const { exchange } = request;
    const of = { ...this.#expected(request, sub), fieldValidation };
    const header = exchange.request.headers["content-type"];
    return exchange.pace.through(readObject(this.#options, body, header, of, (text) => exchange.warn(text)));
  }

  async #readDeletion(request: Request) {
    const { exchange } = request;
    const bytes = await exchange.body();
    const header = exchange.request.headers["content-type"];
    const sentOptions = bytes.length === 0 ? undefined : readOptions(bytes, header, this.#options);
    const options = deleteOptions(sentOptions, exchange.query);
    const sent = { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...options };
    // The real server writes them down in a form that it keeps to itself otherwise.
    if (sentOptions !== undefined) exchange.audit?.requested({ ...sent, apiVersion: "meta.k8s.io/__internal" });
    const dryRun = (options.dryRun ?? []).length > 0;
    return { options, operation: this.#operation(request, { dryRun, fieldManager: "", sent }) };
  }

  #selection(type: ResourceType, { version }: ResourceTarget, query: URLSearchParams, name = ""): Selection {
    const fieldSelector = query.get("fieldSelector") ?? "";
    const byName = name === "" ? "" : `metadata.name=${name}`;
    const selectors = {
      labelSelector: query.get("labelSelector") ?? "",
      fieldSelector: [byName, fieldSelector].filter((one) => one !== "").join(","),
    };
    return selectionOf(type, version, selectors, {
      read: (stored) => this.#registry.read(type, stored),
      shown: (stored) => shown(this.#registry, type, version, stored),
    });
  }
}

/** Tables of a view of another kind are that kind's. */
function shownType(type: ResourceType, sub: Subresource | undefined): ResourceType {
  if (sub?.type !== "view" || sub.read === undefined) return type;
  const { columns: _, ofVersion: __, rowConditions: ___, ...rest } = type;
  return { ...rest, ...(sub.columns && { columns: sub.columns }) };
}

function viewText(object: KubeObject, form: AnswerForm, rendering: Rendering): string | Promise<string> {
  return form.as === undefined ? JSON.stringify(object) : rendering.textOf(object);
}

function namesVersion(patch: unknown): boolean {
  if (Array.isArray(patch))
    return patch.some((one) => (one as { path?: unknown })?.path === "/metadata/resourceVersion");
  const { metadata } = (patch ?? {}) as { metadata?: { resourceVersion?: unknown } };
  return Boolean(metadata?.resourceVersion);
}

function includedObject(query: URLSearchParams): IncludedObject {
  const asked = query.get("includeObject");
  if (asked === null || asked === "") return "Metadata";
  if (asked === "None" || asked === "Metadata" || asked === "Object") return asked;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(asked)}`);
}

/** Nothing is served there. */
export function pathNotFound(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

function checkScope(type: ResourceType, { namespace, name, verb }: ResourceTarget): void {
  if (!type.namespaced && namespace !== "") throw pathNotFound();
  if (type.namespaced && namespace === "" && name !== "" && verb !== "watch") throw pathNotFound();
}

/** Of pods, in characters: many of them are as much work as a large one. */
const TYPICAL_SIZE = 2_000;
const DELETED_AT_ONCE = 50;

const allVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function checkVerb(type: ResourceType, sub: Subresource | undefined, { verb }: ResourceTarget): void {
  const verbs = sub === undefined ? (type.verbs ?? allVerbs) : sub.verbs;
  if (!verbs.includes(verb)) {
    throw new StatusError(
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
      {},
    );
  }
}

function setVersion({ metadata }: KubeObject, version: string | undefined): void {
  if (version === undefined) delete metadata.resourceVersion;
  else metadata.resourceVersion = version;
}
