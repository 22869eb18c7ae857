import { CONSUMER_LABEL } from "@fjord/api";
import { ADDRESS_ANNOTATIONS } from "../../chosen-address.ts";
import { chosenVolume } from "../../chosen-volume.ts";
import { type AskedMeans, askedMeans, isExposed, mostAsked, SHADOW_PODS, storageProblem } from "./asked-means.ts";
import { type KubePath, resourceName } from "./kube-path.ts";
import { KubeRefusal } from "./kube-refusal.ts";
import type { Verb } from "./rules.ts";

const OBJECT_TYPES = ["application/json"];
const PATCH_TYPES = [
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/json-patch+json",
  // Sent by clients that apply; only JSON, which is YAML, is taken.
  "application/apply-patch+yaml",
];
const JSON_PATCH = "application/json-patch+json";

/** Types of Secret that make the control plane do something for whoever may write them. */
const ACTING_SECRETS = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token"];

/** Patches of these sorts have a list as a whole; with others it may be added to. */
const LIST_REPLACING = ["application/merge-patch+json", JSON_PATCH];

const INGRESSES = "ingresses.networking.k8s.io";
const SLICES = "endpointslices.discovery.k8s.io";

/** Of what a JSON patch changes too little is in it: what else an object says of them has to be seen with it. */
const WHOLE_ONLY: Readonly<Record<string, string>> = {
  [INGRESSES]: "the spec of an Ingress: its hosts would not be seen",
  [SLICES]: "what an EndpointSlice leads to: its addresses would not be seen",
};

const CLAIMS = "persistentvolumeclaims";
/** Keeps a claim while a pod has its volume. */
const CLAIM_PROTECTION = "kubernetes.io/pvc-protection";

/** Finalizers that the control plane itself sets and takes away: who replaces an object sends them back. */
const SERVERS_FINALIZERS: Readonly<Record<string, string>> = {
  [CLAIMS]: CLAIM_PROTECTION,
  services: "service.kubernetes.io/load-balancer-cleanup",
};

export interface Write {
  readonly consumer: string;
  readonly verb: Verb;
  readonly path: KubePath;
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** What is known of a write that may be sent on. */
export interface CheckedWrite {
  /** Of the object that is written. */
  readonly name: string;
  readonly asks: AskedMeans;
  /** It is a deletion whose body asks for nothing to be deleted. */
  readonly dryRun?: boolean;
}

/**
 * Throws `KubeRefusal` for a body that we cannot read, that claims to be another consumer's, or that asks for what reaches
 * beyond its namespace.
 */
export function checkWrite(write: Write): CheckedWrite {
  const { verb, body, contentType, path } = write;
  if (verb === "delete" && body.length === 0) return { name: path.name ?? "", asks: {} };
  const type = mediaType(contentType);
  const known = verb === "patch" ? PATCH_TYPES : OBJECT_TYPES;
  if (!known.includes(type)) throw new KubeRefusal(415, `a ${verb} must be one of ${known.join(", ")}`);
  const value = parse(body);
  if (verb === "delete") return { name: path.name ?? "", asks: {}, dryRun: isTrial(value) };
  const asks = type === JSON_PATCH ? checkJsonPatch(value, write) : checkObject(value, write);
  return { name: path.name ?? nameOf(value), asks };
}

/** What a deletion has in its body goes before what its query says. */
function isTrial(options: unknown): boolean {
  if (!isObject(options)) return false;
  checkFoldedKeys(options, ["dryRun"]);
  return options.dryRun !== undefined && options.dryRun !== null;
}

/** One that the API server would make up is known too late to be counted. */
function nameOf(value: unknown): string {
  const name = isObject(value) && isObject(value.metadata) ? value.metadata.name : undefined;
  if (typeof name !== "string" || name === "") throw new KubeRefusal(400, "metadata.name must be given");
  return name;
}

function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function parse(body: Buffer): unknown {
  const text = body.toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    // A key that is there twice is read in one way here and may be in another there.
    if (hasRepeatedKeys(text, value)) throw new KubeRefusal(400, "the body has a key twice");
    return value;
  } catch (error) {
    if (error instanceof KubeRefusal) throw error;
    throw new KubeRefusal(400, "the body is not JSON");
  }
}

/**
 * Whether an object in the text has a key twice. Counted: keys in the text against keys in what was parsed, which has each
 * once.
 */
function hasRepeatedKeys(text: string, value: unknown): boolean {
  return keysInText(text) !== keysInValue(value);
}

/** Strings that a colon follows are keys; all other strings are values. */
function keysInText(text: string): number {
  let keys = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = endOfString(text, at + 1) + 1;
    while (isSpace(text.charCodeAt(at))) at++;
    if (text.charCodeAt(at) === COLON) keys++;
  }
  return keys;
}

const [COLON, BACKSLASH] = [58, 92];

/** Looks for quotes instead of at each character: most of a text is within strings. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && isEscaped(text, from, at)) at = text.indexOf('"', at + 1);
  return at === -1 ? text.length : at;
}

/** An even number of backslashes are themselves escaped. */
function isEscaped(text: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

function keysInValue(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + keysInValue(item), 0);
  const values = Object.values(value);
  return values.reduce((sum: number, item) => sum + keysInValue(item), values.length);
}

function checkObject(value: unknown, write: Write): AskedMeans {
  if (!isObject(value)) throw new KubeRefusal(400, "the body is no object");
  checkFoldedKeys(value, ["metadata", "spec", "type"]);
  checkMetadata(value.metadata, write);
  const resource = resourceName({ ...write.path, subresource: undefined });
  if (resource === SHADOW_PODS && isObject(value.spec) && isObject(value.spec.pod))
    checkMetadata(value.spec.pod.metadata, write);
  if (resource === "secrets") checkSecretType(value.type);
  if (resource === "services") {
    checkService(value.spec);
    checkPorts(value.spec, write);
    checkAddress(value.metadata);
  }
  if (resource === CLAIMS) checkClaim(value);
  if (resource === INGRESSES) checkFoldedHosts(value.spec);
  if (resource === SLICES) checkSlice(value);
  checkStorage(resource, value);
  if (resource === CLAIMS) checkProtection(value, write);
  return askedMeans(resource, value, write.verb !== "patch");
}

function checkMetadata(metadata: unknown, write: Write): void {
  if (!isObject(metadata)) return;
  checkFoldedKeys(metadata, ["labels", "annotations", "finalizers"]);
  checkLabels(metadata.labels, write);
  checkFinalizers(metadata.finalizers, write);
}

/** One that nobody here takes away would keep the object, its namespace and the tenant for ever. */
function checkFinalizers(finalizers: unknown, { path }: Write): void {
  if (finalizers === undefined || finalizers === null) return;
  const known = SERVERS_FINALIZERS[resourceName({ ...path, subresource: undefined })];
  if (Array.isArray(finalizers) && finalizers.every((finalizer) => finalizer === known)) return;
  throw new KubeRefusal(403, "metadata.finalizers cannot be set from another site: nothing here would take them away");
}

/** Without what keeps it a claim would go, and be counted no more, while a pod has its volume. */
function checkProtection({ metadata, ...claim }: Record<string, unknown>, { verb }: Write): void {
  if (verb === "create") return;
  const finalizers = isObject(metadata) ? metadata.finalizers : undefined;
  const isKept =
    verb === "update"
      ? Array.isArray(finalizers) && finalizers.includes(CLAIM_PROTECTION)
      : // Whoever names it, or orders what becomes of the list, may have it taken away later.
        metadata !== null && finalizers === undefined && !hasDirective(claim) && !hasDirective(metadata);
  if (!isKept) throw unprotected();
}

/** Of a strategic merge patch, about the object or its fields as a whole. */
function hasDirective(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith("$"));
}

function unprotected(): KubeRefusal {
  return new KubeRefusal(403, `the finalizer ${CLAIM_PROTECTION} of a claim cannot be changed from another site`);
}

function checkLabels(labels: unknown, { consumer }: Write): void {
  if (!isObject(labels)) return;
  const claimed = labels[CONSUMER_LABEL];
  if (claimed === undefined || claimed === null || claimed === consumer) return;
  throw new KubeRefusal(403, `the label ${CONSUMER_LABEL} must be ${consumer}: it says whose an object is`);
}

function checkSecretType(type: unknown): void {
  if (typeof type === "string" && ACTING_SECRETS.includes(type))
    throw new KubeRefusal(403, `a Secret of the type ${type} cannot be made from another site`);
}

function checkService(spec: unknown): void {
  if (!isObject(spec)) return;
  checkFoldedKeys(spec, ["externalIPs", "loadBalancerIP", "type", "externalName", "ports"]);
  if (typeof spec.loadBalancerIP === "string" && spec.loadBalancerIP !== "")
    throw new KubeRefusal(403, "spec.loadBalancerIP cannot be set from another site: the address may be another's");
  const { externalName = null } = spec;
  if (externalName !== null && typeof externalName !== "string")
    throw new KubeRefusal(400, "spec.externalName is no name");
  const addresses = spec.externalIPs;
  if (addresses === undefined || addresses === null || (Array.isArray(addresses) && addresses.length === 0)) return;
  throw new KubeRefusal(403, "spec.externalIPs cannot be set from another site: it would take over others' traffic");
}

/** Each port of one that is exposed takes one of all nodes: they are counted, and a patch that has not all of them hides some. */
function checkPorts(spec: unknown, { verb, contentType }: Write): void {
  if (verb !== "patch" || !isObject(spec)) return;
  const { type, ports } = spec;
  if ("type" in spec ? !isExposed(type) : !("ports" in spec)) return;
  const isWhole = LIST_REPLACING.includes(mediaType(contentType)) && Array.isArray(ports);
  if ("type" in spec && isWhole) return;
  throw new KubeRefusal(
    422,
    "the ports of a Service and its type are changed together, by a merge patch with all ports: they are counted",
  );
}

function checkAddress(metadata: unknown): void {
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {};
  const chosen = ADDRESS_ANNOTATIONS.find((name) => typeof annotations[name] === "string");
  if (chosen === undefined) return;
  throw new KubeRefusal(403, `the annotation ${chosen} cannot be set from another site: the address may be another's`);
}

/** Asked for by name, by label or as the data of a new one, a volume may be one that holds the owner's data. */
function checkClaim(claim: Record<string, unknown>): void {
  checkFoldedPath(claim.spec, ["resources", "requests", "storage"]);
  const field = chosenVolume(claim);
  if (field === undefined) return;
  throw new KubeRefusal(
    403,
    `spec.${field} cannot be set from another site: a claim gets a volume that is made for it`,
  );
}

function checkStorage(resource: string, object: unknown): void {
  const problem = storageProblem(resource, object);
  if (problem !== undefined) throw new KubeRefusal(422, problem);
}

function checkFoldedHosts(spec: unknown): void {
  if (!isObject(spec)) return;
  checkFoldedKeys(spec, ["rules", "tls", "defaultBackend"]);
  for (const each of [spec.rules, spec.tls].flat()) if (isObject(each)) checkFoldedKeys(each, ["host", "hosts"]);
}

/** Names in a slice are what nodes do not look at, and some Ingress controllers resolve within the cluster. */
function checkSlice(slice: Record<string, unknown>): void {
  checkFoldedKeys(slice, ["endpoints", "addressType"]);
  if (slice.addressType === "FQDN")
    throw new KubeRefusal(
      403,
      "an EndpointSlice of the type FQDN cannot be made from another site: use an ExternalName",
    );
  for (const each of [slice.endpoints].flat()) if (isObject(each)) checkFoldedKeys(each, ["addresses"]);
}

/** Kubernetes takes `Metadata` for `metadata` in places; we take neither chance. */
function checkFoldedKeys(value: Record<string, unknown>, names: readonly string[]): void {
  for (const key of Object.keys(value)) {
    const folded = names.find((name) => name !== key && name.toLowerCase() === key.toLowerCase());
    if (folded !== undefined) throw new KubeRefusal(400, `unknown field ${key}: did you mean ${folded}?`);
  }
}

/** The same for each field on a way. */
function checkFoldedPath(value: unknown, [name, ...rest]: readonly string[]): void {
  if (name === undefined || !isObject(value)) return;
  checkFoldedKeys(value, [name]);
  checkFoldedPath(value[name], rest);
}

function checkJsonPatch(value: unknown, write: Write): AskedMeans {
  if (!Array.isArray(value)) throw new KubeRefusal(400, "a JSON patch is a list");
  return value.map((operation) => checkOperation(operation, write)).reduce(mostAsked, {});
}

function checkOperation(operation: unknown, write: Write): AskedMeans {
  if (!isObject(operation) || typeof operation.path !== "string" || typeof operation.op !== "string")
    throw new KubeRefusal(400, "an operation of a JSON patch has an op and a path");
  const { op, path, value } = operation;
  const segments = segmentsOf(path);
  const resource = resourceName({ ...write.path, subresource: undefined });
  const unseen = WHOLE_ONLY[resource];
  if (unseen !== undefined && !isBelow(segments, "metadata"))
    throw new KubeRefusal(403, `a JSON patch may not change ${unseen}`);
  const [field, inMetadata = "finalizers"] = segments;
  if (resource === CLAIMS && (field === undefined || (field === "metadata" && inMetadata === "finalizers")))
    throw unprotected();
  if (op === "test" || op === "remove") return {};
  if (resource === SHADOW_PODS && isBelow(segments, "spec", "pod"))
    throw new KubeRefusal(
      403,
      "a JSON patch may change spec.pod as a whole: the volumes that come with it would not be seen",
    );
  // What is moved or copied is not in the patch, so that it cannot be looked at.
  if (op !== "add" && op !== "replace") throw new KubeRefusal(403, `a JSON patch may not ${op.slice(0, 16)}`);
  return checkObject(nested(segments, value), write);
}

/** Of a JSON pointer. One that does not begin at the top is refused: the API server leaves out what stands before its first slash. */
function segmentsOf(pointer: string): readonly string[] {
  const [top, ...segments] = pointer.split("/");
  if (top !== "") throw new KubeRefusal(400, "the path of an operation is empty, or begins with a slash");
  return segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function isBelow(segments: readonly string[], ...parents: readonly string[]): boolean {
  return segments.length > parents.length && parents.every((parent, index) => segments[index] === parent);
}

/** The object that has `value` at the path, and nothing else. */
function nested(segments: readonly string[], value: unknown): unknown {
  return segments.reduceRight<unknown>((inner, segment) => ({ [segment]: inner }), value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
