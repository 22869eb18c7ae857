import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "@fjord/base";
import type { CertificateSigningRequest, Node, PersistentVolumeClaim, Pod } from "@fjord/kube";
import { parseSigningRequest } from "../authentication/signing-request.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { nodeOf } from "../authorization/node-authorizer.ts";
import { find } from "../cluster-objects.ts";
import { notFound } from "../status-error.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { mirrorReference } from "./mirror-pod.ts";
import { forbiddenLabels } from "./node-labels.ts";
import { refusal } from "./refusal.ts";

const MIRROR = "kubernetes.io/config.mirror";
const pods = { group: "", plural: "pods" };

/** Keeps a kubelet to its own node, and to the pods on it. */
export function nodeRestriction(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "NodeRestriction",
    mutate(request) {
      const node = nodeOf(request.caller);
      if (node === undefined) return;
      if (node === "") {
        throw refusal(request, `could not determine node from user ${JSON.stringify(request.caller.user)}`);
      }
      return restrict(request, node, authorizer);
    },
  };
}

function restrict(request: AdmissionRequest, node: string, authorizer: Authorizer): void | Promise<void> {
  const { type, subresource, operation } = request;
  switch (`${type.group}/${type.plural}`) {
    case "/pods":
      return ofPod(request, node);
    case "/nodes":
      return ofNode(request, node);
    case "/persistentvolumeclaims":
      if (subresource !== "status") throw refusal(request, "may only update PVC status");
      return ofClaim(request, node);
    case "/serviceaccounts":
      return operation === "CREATE" && subresource === "token" ? ofToken(request, node, authorizer) : undefined;
    case "coordination.k8s.io/leases":
      if (request.namespace !== "kube-node-lease") {
        throw refusal(request, 'can only access leases in the "kube-node-lease" system namespace');
      }
      return ofOwnName(request, node, "node lease");
    case "storage.k8s.io/csinodes":
      return ofOwnName(request, node, "CSINode");
    case "certificates.k8s.io/certificatesigningrequests":
      return operation === "CREATE" && subresource === "" ? ofSigningRequest(request, node) : undefined;
    default:
      return undefined;
  }
}

const nameOf = ({ name, object }: AdmissionRequest) => name || (object?.metadata.name ?? "");

function ofOwnName(request: AdmissionRequest, node: string, thing: string): void {
  if (nameOf(request) === node) return;
  throw refusal(request, `can only access ${thing} with the same name as the requesting node`);
}

function ofPod(request: AdmissionRequest, node: string): void {
  const { subresource, operation, cluster, namespace } = request;
  const quoted = JSON.stringify(node);
  const existing = () => {
    const pod = find<Pod>(cluster, "Pod", namespace, nameOf(request));
    if (pod === undefined) throw notFound(pods, nameOf(request));
    return pod;
  };
  if (subresource === "eviction") {
    if (operation !== "CREATE") throw refusal(request, `unexpected operation ${operation}`);
    if (existing().spec?.nodeName === node) return;
    throw refusal(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
  }
  if (subresource === "status") {
    if (operation !== "UPDATE") throw refusal(request, `unexpected operation ${JSON.stringify(operation)}`);
    ofPodStatus(request, quoted, node);
    return;
  }
  if (subresource !== "") {
    const told = `unexpected pod subresource ${JSON.stringify(subresource)}, only 'status' and 'eviction' are allowed`;
    throw refusal(request, told);
  }
  if (operation === "CREATE") {
    ofMirrorPod(request, node);
    return;
  }
  if (operation === "DELETE") {
    if (existing().spec?.nodeName === node) return;
    throw refusal(request, `node ${quoted} can only delete pods with spec.nodeName set to itself`);
  }
  const told = `unexpected operation ${JSON.stringify(operation)}, node ${quoted} can only create and delete mirror pods`;
  throw refusal(request, told);
}

function ofPodStatus(request: AdmissionRequest, quoted: string, node: string): void {
  const pod = request.object as Pod;
  const old = request.old as Pod;
  if (old.spec?.nodeName !== node) {
    throw refusal(request, `node ${quoted} can only update pod status for pods with spec.nodeName set to itself`);
  }
  if (!isDeepStrictEqual(pod.metadata.labels ?? {}, old.metadata.labels ?? {})) {
    throw refusal(request, `node ${quoted} cannot update labels through pod status`);
  }
  const claims = ({ status }: Pod) =>
    (status?.resourceClaimStatuses ?? []).map(({ name, resourceClaimName }) => [name, resourceClaimName]);
  if (!isDeepStrictEqual(claims(pod), claims(old))) {
    throw refusal(request, `node ${quoted} cannot update resource claim statues`);
  }
}

/** A pod that the kubelet runs by itself, and shows to the API. */
function ofMirrorPod(request: AdmissionRequest, node: string): void {
  const { metadata, spec } = request.object as Pod;
  const begin = `node ${JSON.stringify(node)}`;
  const fail = (told: string): never => {
    throw refusal(request, told);
  };
  if (metadata.annotations?.[MIRROR] === undefined) {
    fail(`pod does not have "${MIRROR}" annotation, ${begin} can only create mirror pods`);
  }
  if (spec?.nodeName !== node) fail(`${begin} can only create pods with spec.nodeName set to itself`);
  const [owner, ...others] = metadata.ownerReferences ?? [];
  if (others.length > 0) fail(`${begin} can only create pods with a single owner reference set to itself`);
  const isOwn = owner?.apiVersion === "v1" && owner.kind === "Node" && owner.name === node;
  if (!isOwn) throw refusal(request, `${begin} can only create pods with an owner reference set to itself`);
  if (!owner.controller) fail(`${begin} can only create pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion) fail(`${begin} must not set blockOwnerDeletion on an owner reference`);
  const found = find<Node>(request.cluster, "Node", "", node);
  if (found === undefined) throw notFound({ group: "", plural: "nodes" }, node);
  if (owner.uid !== found.metadata.uid) {
    fail(`node ${node} UID mismatch: expected ${owner.uid} got ${found.metadata.uid}`);
  }
  const refersTo = mirrorReference(spec);
  if (refersTo !== undefined) fail(`${begin} can not create pods that reference ${refersTo}`);
}

function ofNode(request: AdmissionRequest, node: string): void {
  const { operation } = request;
  const begin = `node ${JSON.stringify(node)} is not allowed to`;
  const requested = nameOf(request);
  if (requested !== node) throw refusal(request, `${begin} modify node ${JSON.stringify(requested)}`);
  if (operation !== "CREATE" && operation !== "UPDATE") return;
  const { metadata, spec } = request.object as Node;
  const old = request.old as Node | undefined;
  if (spec?.configSource !== undefined && !isDeepStrictEqual(spec.configSource, old?.spec?.configSource)) {
    const what =
      old === undefined
        ? "create pods with a non-nil configSource"
        : "update configSource to a new non-nil configSource";
    throw refusal(request, `${begin} ${what}`);
  }
  if (old !== undefined && !isDeepStrictEqual(spec?.taints ?? [], old.spec?.taints ?? [])) {
    throw refusal(request, `${begin} modify taints`);
  }
  if (old !== undefined && !isDeepStrictEqual(metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    throw refusal(request, `${begin} modify ownerReferences`);
  }
  const labels = forbiddenLabels(metadata.labels, old?.metadata.labels);
  if (labels.length === 0) return;
  const what = old === undefined ? `${begin} set the following labels` : "is not allowed to modify labels";
  throw refusal(request, `${what}: ${labels.join(", ")}`);
}

function ofClaim(request: AdmissionRequest, node: string): void {
  if (request.operation !== "UPDATE")
    throw refusal(request, `unexpected operation ${JSON.stringify(request.operation)}`);
  const rest = (object: KubeObject | undefined) => {
    const { metadata, spec, status } = object as PersistentVolumeClaim;
    const { resourceVersion: _, managedFields: __, ...others } = metadata;
    const {
      capacity: ___,
      conditions: ____,
      allocatedResources: _____,
      allocatedResourceStatuses: ______,
      ...kept
    } = status ?? {};
    return { others, spec, kept };
  };
  if (isDeepStrictEqual(rest(request.object), rest(request.old))) return;
  throw refusal(
    request,
    `node ${JSON.stringify(node)} is not allowed to update fields other than status.quantity and status.conditions`,
  );
}

interface TokenRequest extends KubeObject {
  spec?: {
    audiences?: string[];
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
  };
}

async function ofToken(request: AdmissionRequest, node: string, authorizer: Authorizer): Promise<void> {
  const { spec } = request.object as TokenRequest;
  const { apiVersion, kind, name = "", uid } = spec?.boundObjectRef ?? {};
  if (apiVersion !== "v1" || kind !== "Pod" || name === "") {
    throw refusal(request, "node requested token not bound to a pod");
  }
  if (!uid) throw refusal(request, "node requested token with a pod binding without a uid");
  const pod = find<Pod>(request.cluster, "Pod", request.namespace, name);
  if (pod === undefined) throw notFound(pods, name);
  if (pod.metadata.uid !== uid) {
    const told = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw refusal(request, told);
  }
  if (pod.spec?.nodeName !== node) {
    throw refusal(request, "node requested token bound to a pod scheduled on a different node");
  }
  const [audience = "", ...others] = spec?.audiences ?? [];
  if (others.length > 0) throw refusal(request, "node may only request 0 or 1 audiences");
  const isMounted = (pod.spec.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(({ serviceAccountToken: token }) => token && (token.audience ?? "") === audience),
  );
  if (isMounted) return;
  const verb = "request-serviceaccounts-token-audience";
  const place = { namespace: request.namespace, name: request.name };
  const asked = { verb, group: "", version: "v1", resource: audience, subresource: "", ...place };
  if ((await authorizer.authorize(request.caller, asked)).allowed) return;
  const told = `audience ${JSON.stringify(audience)} not found in pod spec volume, ${request.caller.user} is not authorized to request tokens for this audience`;
  throw refusal(request, told);
}

const nodeSigners = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

function ofSigningRequest(request: AdmissionRequest, node: string): void {
  const { spec } = request.object as CertificateSigningRequest;
  if (!nodeSigners.includes(spec?.signerName)) return;
  let commonName: string;
  try {
    commonName = parseSigningRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1")).subject.commonName;
  } catch (error) {
    throw refusal(request, `unable to parse csr: ${(error as Error).message}`);
  }
  if (commonName === `system:node:${node}`) return;
  throw refusal(request, `can only create a node CSR with CN=system:node:${node}`);
}
