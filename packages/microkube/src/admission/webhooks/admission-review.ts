import { randomUUID } from "node:crypto";
import { apiVersionOf, type KubeObject } from "@fjord/base";
import { userInfo } from "../../authentication/identity-reviews.ts";
import { type StatusDetails, StatusError } from "../../status-error.ts";
import type { AdmissionRequest } from "../admission.ts";
import { type Webhook, WebhookFailure } from "./webhook.ts";

export interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: "AdmissionReview";
  readonly request: { readonly uid: string } & Readonly<Record<string, unknown>>;
}

export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  /** Operations of a JSON patch. */
  readonly patch: readonly unknown[];
  readonly status?: { code?: number; message?: string; reason?: string; details?: StatusDetails } | undefined;
}

const known = ["v1", "v1beta1"];

/** What a webhook is asked. `object` and `old` are in the version that it is called with. */
export function admissionReview(
  { hook }: Webhook,
  request: AdmissionRequest,
  version: string,
  { object, old }: { object: KubeObject | undefined; old: KubeObject | undefined },
): AdmissionReview {
  const reviewVersion = (hook.admissionReviewVersions ?? []).find((one) => known.includes(one));
  if (reviewVersion === undefined) {
    throw new WebhookFailure(
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    );
  }
  const { type, subresource, name, namespace, operation, caller, dryRun, options } = request;
  const { group, plural: resource } = type;
  const view = type.subresources[subresource];
  const otherKind = view !== undefined && "kind" in view ? view.kind : undefined;
  const kindIn = (of: string) => otherKind ?? { group, version: of, kind: type.kind };
  const sub = subresource === "" ? {} : { subResource: subresource, requestSubResource: subresource };
  return {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${reviewVersion}`,
    request: {
      uid: randomUUID(),
      kind: kindIn(version),
      resource: { group, version, resource },
      requestKind: kindIn(request.version),
      requestResource: { group, version: request.version, resource },
      ...sub,
      ...(name !== "" && { name }),
      ...(namespace !== "" && { namespace }),
      operation,
      userInfo: userInfo(caller),
      object: object ?? null,
      oldObject: old ?? null,
      dryRun,
      options: optionsOf(operation, options),
    },
  };
}

const optionKinds: Readonly<Record<string, string>> = {
  CREATE: "CreateOptions",
  UPDATE: "UpdateOptions",
  DELETE: "DeleteOptions",
};

/** A patch is an update to webhooks, or a create; hence not the options' own kind, and nothing of how it was patched. */
function optionsOf(operation: string, options: Record<string, unknown>): Record<string, unknown> | null {
  const kind = optionKinds[operation];
  if (kind === undefined) return null;
  const { kind: _, apiVersion: __, force: ___, ...rest } = options;
  return { kind, apiVersion: apiVersionOf({ group: "meta.k8s.io", version: "v1" }), ...rest };
}

/** Reads an answer; throws `WebhookFailure` for one that makes no sense. */
export function readResponse(review: AdmissionReview, answer: unknown, mutating: boolean): AdmissionResponse {
  const fail = (problem: string) => new WebhookFailure(`received invalid webhook response: ${problem}`);
  const { apiVersion, kind, response } = (answer ?? {}) as Record<string, unknown>;
  const isOld = review.apiVersion.endsWith("v1beta1");
  if (!isOld && (apiVersion !== review.apiVersion || kind !== "AdmissionReview")) {
    const got = typeof apiVersion === "string" ? `${apiVersion}, Kind=${kind}` : "/, Kind=";
    throw fail(`expected webhook response of ${review.apiVersion}, Kind=AdmissionReview, got ${got}`);
  }
  if (typeof response !== "object" || response === null) throw fail("webhook response was absent");
  const { uid, allowed, warnings, patch, patchType, status } = response as Record<string, unknown>;
  if (!isOld && uid !== review.request.uid) {
    throw fail(`expected response.uid=${JSON.stringify(review.request.uid)}, got ${JSON.stringify(uid ?? "")}`);
  }
  const text = typeof patch === "string" ? patch : "";
  if (!isOld && mutating && text !== "" && patchType === undefined) {
    throw fail("webhook returned response.patch but not response.patchType");
  }
  if (!isOld && mutating && text === "" && patchType !== undefined) {
    throw fail("webhook returned response.patchType but not response.patch");
  }
  if (!mutating && !isOld && text !== "") throw fail("validating webhook may not return response.patch");
  if (!mutating && !isOld && patchType !== undefined) {
    throw fail("validating webhook may not return response.patchType");
  }
  if (mutating && text !== "" && (patchType ?? "JSONPatch") !== "JSONPatch") {
    throw new WebhookFailure(`unsupported patch type ${JSON.stringify(patchType)}`);
  }
  return {
    allowed: allowed === true,
    warnings: Array.isArray(warnings) ? warnings.slice(0, MOST_WARNINGS).filter((one) => typeof one === "string") : [],
    patch: mutating && text !== "" ? readPatch(text) : [],
    status: readStatus(status),
  };
}

/** As many as a client may send. */
const MOST_OPERATIONS = 10_000;

function readPatch(text: string): unknown[] {
  let patch: unknown;
  try {
    patch = JSON.parse(Buffer.from(text, "base64").toString("utf8"));
  } catch (error) {
    const problem = (error as Error).message;
    throw new WebhookFailure(`received undecodable patch in webhook response: ${problem}`, { cause: error });
  }
  if (Array.isArray(patch) && patch.length > MOST_OPERATIONS) {
    const most = `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`;
    throw new WebhookFailure(`received undecodable patch in webhook response: ${most}`);
  }
  if (!Array.isArray(patch)) throw new WebhookFailure("received undecodable patch in webhook response: it is no list");
  return patch;
}

/** More than an answer's head has room for. */
const MOST_WARNINGS = 1_000;
/** Texts of a webhook are shown to whoever asked: not more than they can read. */
const LONGEST_TEXT = 64 * 1024;

/** Whatever a webhook says of its refusal, what the answer has of it is in the form of a Status. */
function readStatus(told: unknown): AdmissionResponse["status"] {
  if (typeof told !== "object" || told === null) return undefined;
  const { code, message, reason, details } = told as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value.slice(0, LONGEST_TEXT) : "");
  const isCode = typeof code === "number" && Number.isInteger(code) && code >= 100 && code < 600;
  return {
    ...(isCode && { code }),
    message: text(message),
    reason: text(reason),
    ...(typeof details === "object" && details !== null && { details: readDetails(details, text) }),
  };
}

function readDetails(told: object, text: (value: unknown) => string): StatusDetails {
  const { name, group, kind, uid, causes, retryAfterSeconds } = told as Record<string, unknown>;
  const texts = Object.entries({ name, group, kind, uid }).filter(([, value]) => text(value) !== "");
  const list = Array.isArray(causes) ? causes.slice(0, 100) : [];
  const seconds = Number.isInteger(retryAfterSeconds) && (retryAfterSeconds as number) > 0;
  return {
    ...Object.fromEntries(texts.map(([key, value]) => [key, text(value)])),
    ...(list.length > 0 && {
      causes: list.map((one) => {
        const { reason, message, field } = (one ?? {}) as Record<string, unknown>;
        return { reason: text(reason), message: text(message), field: text(field) };
      }),
    }),
    ...(seconds && { retryAfterSeconds: Math.min(retryAfterSeconds as number, 86_400) }),
  };
}

/** A webhook's refusal, as it becomes the answer. */
export function denial(name: string, status: AdmissionResponse["status"]): StatusError {
  const begin = `admission webhook ${JSON.stringify(name)} denied the request`;
  const { code = 0, message = "", reason = "", details } = status ?? {};
  const why = message || reason;
  const told = why === "" ? `${begin} without explanation` : `${begin}: ${why}`;
  return new StatusError(code < 400 ? 400 : code, reason, told, details);
}
