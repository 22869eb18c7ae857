import { randomUUID } from "node:crypto";
import { describeError, type KubeObject } from "@fjord/base";
import { StatusError } from "../status-error.ts";
import { convertByName } from "./conversion.ts";
import type { Definition } from "./definition.ts";

/** Posts a review to a webhook; the answer, parsed. */
export type PostReview = (clientConfig: object, review: unknown, seconds: number) => Promise<unknown>;

interface ReviewAnswer {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly response?: {
    readonly uid?: string;
    readonly result?: { readonly status?: string; readonly message?: string };
    readonly convertedObjects?: readonly unknown[];
  };
}

const GROUP = "apiextensions.k8s.io";
const SECONDS = 30;

/** Brings objects to other versions: by their webhook where the definition names one, else by the version's name alone. */
export function conversionBy(post: PostReview) {
  return (definition: Definition, object: KubeObject, version: string): KubeObject | Promise<KubeObject> => {
    const { conversion, group } = definition.spec;
    const apiVersion = `${group}/${version}`;
    if (object.apiVersion === apiVersion) return object;
    if (conversion?.strategy !== "Webhook") return convertByName(definition, object, version);
    return convertByWebhook(post, conversion.webhook ?? {}, object, apiVersion);
  };
}

async function convertByWebhook(
  post: PostReview,
  { clientConfig = {}, conversionReviewVersions = [] }: NonNullable<Definition["spec"]["conversion"]>["webhook"] & {},
  object: KubeObject,
  apiVersion: string,
): Promise<KubeObject> {
  const version = conversionReviewVersions.find((one) => one === "v1" || one === "v1beta1");
  if (version === undefined) throw failure("no supported conversion review versions");
  const kind = `${object.apiVersion}, Kind=${object.kind}`;
  const uid = randomUUID();
  const review = {
    kind: "ConversionReview",
    apiVersion: `${GROUP}/${version}`,
    request: { uid, desiredAPIVersion: apiVersion, objects: [object] },
  };
  let answered: readonly unknown[];
  try {
    answered = convertedObjects((await post(clientConfig, review, SECONDS)) as ReviewAnswer, version, uid);
  } catch (error) {
    const why = describeError(error).replace(/^failed to call webhook: /, "");
    throw failure(`conversion webhook for ${kind} failed: ${why}`);
  }
  if (answered.length !== 1) {
    throw failure(`conversion webhook for ${kind} returned ${answered.length} objects, expected 1`);
  }
  const refuse = (why: string) => failure(`conversion webhook for ${kind} returned invalid ${why}`);
  const converted = (answered[0] ?? {}) as KubeObject;
  if (converted.apiVersion !== apiVersion) {
    const received = converted.apiVersion ?? "";
    throw refuse(`object at index 0: invalid groupVersion (expected ${apiVersion}, received ${received})`);
  }
  if (converted.kind !== object.kind) {
    throw refuse(`object at index 0: invalid kind (expected ${object.kind}, received ${converted.kind ?? ""})`);
  }
  const changed = identityChange(object, converted);
  if (changed !== undefined) throw refuse(`object: ${changed}`);
  try {
    return { ...converted, metadata: restored(object, converted) };
  } catch (error) {
    throw refuse(`metadata: ${describeError(error)}`);
  }
}

/** What a webhook has made; throws where it says that it could not, or answers something else. */
function convertedObjects(answer: ReviewAnswer | undefined, version: string, uid: string): readonly unknown[] {
  const { response } = answer ?? {};
  if (version === "v1" && (answer?.apiVersion !== `${GROUP}/v1` || answer.kind !== "ConversionReview")) {
    const got = `${answer?.apiVersion ?? "/"}, Kind=${answer?.kind ?? ""}`;
    throw new Error(`expected webhook response of ${GROUP}/v1, Kind=ConversionReview, got ${got}`);
  }
  if (response === undefined || response === null) throw new Error("no response provided");
  if (version === "v1" && response.uid !== uid) {
    throw new Error(`expected response.uid="${uid}", got ${JSON.stringify(response.uid ?? "")}`);
  }
  const { status = "", message } = response.result ?? {};
  if (status !== "Success") throw new Error(message || `response.result.status was '${status}', not 'Success'`);
  return response.convertedObjects ?? [];
}

/** What makes it another object than it was. */
function identityChange({ metadata: of }: KubeObject, { metadata }: KubeObject): string | undefined {
  for (const [field, name] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["uid", "UID"],
  ] as const) {
    const [expected = "", actual = ""] = [of[field], metadata?.[field]];
    if (expected !== actual) return `must have the same ${name}: ${expected} != ${actual}`;
  }
  return undefined;
}

/** Of the metadata, labels and annotations are the webhook's to change. */
function restored(original: KubeObject, { metadata }: KubeObject): KubeObject["metadata"] {
  if (metadata === undefined) throw new Error("missing metadata in converted object");
  const { labels: _, annotations: __, ...rest } = original.metadata;
  const whole: KubeObject["metadata"] = rest;
  for (const field of ["labels", "annotations"] as const) {
    const map = metadata[field];
    if (map === undefined || map === null) continue;
    for (const [key, value] of Object.entries(map)) {
      if (typeof value === "string") continue;
      throw new Error(`metadata.${field}[${key}] must be a string, but is ${typeof value} in converted object`);
    }
    whole[field] = map;
  }
  return whole;
}

const failure = (message: string) => new StatusError(500, "", message);
