import type { KubeObject } from "@fjord/base";
import type { Attributes } from "../authorization/authorizer.ts";
import type { Caller } from "../cluster.ts";
import type { Status } from "../status-error.ts";
import { type AuditDecision, isAtLeast, type Stage } from "./policy.ts";

/** What is known of a request as it comes. */
export interface AuditedRequest {
  readonly id: string;
  readonly uri: string;
  readonly attributes: Attributes;
  /** Undefined: nobody that is known. */
  readonly caller: Caller | undefined;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string | undefined;
}

export interface AuditSink {
  now(): number;
  write(event: object): void;
}

/** What is written down of one request, while it is answered. */
export class AuditRecord {
  readonly #request: AuditedRequest;
  readonly #decision: AuditDecision;
  readonly #sink: AuditSink;
  readonly #received: string;
  readonly #annotations: Record<string, string> = {};
  #impersonated: Caller | undefined;
  #sent: Pick<NonNullable<KubeObject["metadata"]>, "namespace" | "name" | "uid" | "resourceVersion"> = {};
  #requestObject: unknown;
  #responseObject: unknown;
  #status: Partial<Status> = {};
  #startedCode: number | undefined;
  #isRefused = false;
  #isFinished = false;

  constructor(request: AuditedRequest, decision: AuditDecision, sink: AuditSink) {
    this.#request = request;
    this.#decision = decision;
    this.#sink = sink;
    this.#received = microTime(sink.now());
  }

  get wantsRequest(): boolean {
    return isAtLeast(this.#decision.level, "Request");
  }

  get wantsResponse(): boolean {
    return isAtLeast(this.#decision.level, "RequestResponse");
  }

  receive(): void {
    this.#write("RequestReceived", undefined);
  }

  /** Whom the caller acts as. */
  actsAs(caller: Caller): void {
    this.#impersonated = caller;
  }

  annotate(key: string, value: string): void {
    this.#annotations[key] = value;
  }

  /** The object that was sent. What becomes of it later is not what was asked for. */
  requested(object: unknown): void {
    const { metadata } = (object ?? {}) as Partial<KubeObject>;
    const { namespace, name, uid, resourceVersion } = metadata ?? {};
    this.#sent = {
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    };
    if (this.wantsRequest) this.#requestObject = this.#kept(structuredClone(object));
  }

  /** A patch is no object: it names none. */
  requestedPatch(patch: unknown): void {
    if (this.wantsRequest) this.#requestObject = structuredClone(patch);
  }

  /** The answer's JSON; a Status is told of at every level. */
  responded(text: string): void {
    const isStatus = text.startsWith('{"kind":"Status"');
    if (!isStatus && !this.wantsResponse) return;
    const object = JSON.parse(text) as unknown;
    if (isStatus) this.#status = boundedStatus(object as Status);
    if (this.wantsResponse) this.#responseObject = this.#kept(object);
  }

  /** The head of an answer that goes on for long is sent. */
  started(code: number): void {
    if (this.#startedCode !== undefined) return;
    this.#startedCode = code;
    this.#write("ResponseStarted", code);
  }

  /** Nobody was let in, which is all there is to tell: that is known when the answer begins. */
  refuse(): void {
    this.#isRefused = true;
  }

  /** The answer is there; only the first call counts. */
  finish(code: number): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#write(this.#isRefused ? "ResponseStarted" : "ResponseComplete", this.#startedCode ?? code);
  }

  #write(stage: Stage, code: number | undefined): void {
    const { level, omitStages } = this.#decision;
    if (omitStages.has(stage)) return;
    const { id, uri, attributes, caller, sourceIPs, userAgent } = this.#request;
    this.#sink.write({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: id,
      stage,
      requestURI: uri,
      verb: attributes.verb,
      user: userInfo(caller),
      ...(this.#impersonated && { impersonatedUser: userInfo(this.#impersonated) }),
      ...(sourceIPs.length > 0 && { sourceIPs }),
      ...(userAgent && { userAgent }),
      ...(!("path" in attributes) && { objectRef: this.#objectRef(attributes) }),
      ...(code !== undefined && { responseStatus: { metadata: {}, ...this.#status, code } }),
      ...(this.#requestObject !== undefined && { requestObject: this.#requestObject }),
      ...(this.#responseObject !== undefined && { responseObject: this.#responseObject }),
      requestReceivedTimestamp: this.#received,
      stageTimestamp: microTime(this.#sink.now()),
      ...(Object.keys(this.#annotations).length > 0 && { annotations: { ...this.#annotations } }),
    });
  }

  #objectRef(attributes: Exclude<Attributes, { readonly path: string }>): Record<string, string> {
    const { resource, group, version, subresource } = attributes;
    const namespace = attributes.namespace || this.#sent.namespace;
    const name = attributes.name || this.#sent.name;
    const { uid, resourceVersion } = this.#sent;
    return {
      resource,
      ...(namespace && { namespace }),
      ...(name && { name }),
      ...(uid && { uid }),
      ...(group && { apiGroup: group }),
      apiVersion: version,
      ...(resourceVersion && { resourceVersion }),
      ...(subresource && { subresource }),
    };
  }

  #kept(object: unknown): unknown {
    if (!this.#decision.omitManagedFields) return object;
    const { metadata, items } = (object ?? {}) as { metadata?: object; items?: { metadata?: object }[] };
    for (const one of [metadata, ...(items ?? []).map((item) => item.metadata)]) {
      if (one !== undefined && "managedFields" in one) delete one.managedFields;
    }
    return object;
  }
}

function userInfo(caller: Caller | undefined): Record<string, unknown> {
  if (caller === undefined) return {};
  const { user, uid, groups, extra } = caller;
  return {
    username: user,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
  };
}

/** What of a Status has a bounded size. */
function boundedStatus({ status, message, reason, details }: Status): Partial<Status> {
  return {
    ...(status && { status }),
    ...(message && { message }),
    ...(reason && { reason }),
    ...(details && { details }),
  };
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
