import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from "@fjord/kube";
import type { Caller, Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import type { Attributes, Decision } from "./authorizer.ts";
import { type NodeReferences, type ReferredKind, reference } from "./node-references.ts";
import { ruleAllows } from "./policy-rule.ts";
import type { RoleIndex } from "./role-index.ts";

export interface NodeAuthorizerOptions {
  readonly cluster: Cluster;
  readonly references: NodeReferences;
  readonly roles: RoleIndex;
}

type Resource = Exclude<Attributes, { path: string }>;

const YES: Decision = { allowed: true, reason: "" };
const NOTHING: Decision = { allowed: false, reason: "" };
const no = (reason: string): Decision => ({ allowed: false, reason });

/** The node that a caller is; empty for a kubelet without a name, undefined for all others. */
export function nodeOf({ user, groups }: Caller): string | undefined {
  if (!groups.includes("system:nodes")) return undefined;
  return user.startsWith("system:node:") ? user.slice("system:node:".length) : undefined;
}

/** Lets kubelets read what the pods on their node need, and write what they report. */
export class NodeAuthorizer {
  readonly #options: NodeAuthorizerOptions;

  constructor(options: NodeAuthorizerOptions) {
    this.#options = options;
  }

  /** undefined: the caller is no kubelet. */
  authorize(caller: Caller, attributes: Attributes): Decision | undefined {
    const node = nodeOf(caller);
    if (node === undefined) return undefined;
    if (node === "") return no(`unknown node for user ${JSON.stringify(caller.user)}`);
    if (!("path" in attributes)) {
      const decision = this.#ofResource(node, attributes);
      if (decision !== undefined) return decision;
    }
    const rules = this.#options.roles.rulesOf({ kind: "ClusterRole", name: "system:node" }, "") ?? [];
    return rules.some((rule) => ruleAllows(rule, attributes)) ? YES : NOTHING;
  }

  /** undefined: nothing special, the node's rules say it. */
  #ofResource(node: string, request: Resource): Decision | undefined {
    const { group, resource } = request;
    switch (group === "" ? resource : `${resource}.${group}`) {
      case "secrets":
        return readOnly(request) ?? this.#related(node, request, () => this.#needsSecret(node, request));
      case "configmaps":
        return readOnly(request) ?? this.#referred(node, "configmap", request);
      case "persistentvolumeclaims":
        return (
          (request.subresource === "status" ? statusOnly(request) : getOnly(request)) ??
          this.#referred(node, "claim", request)
        );
      case "persistentvolumes":
        return getOnly(request) ?? this.#related(node, request, () => this.#needsVolume(node, request.name));
      case "resourceclaims.resource.k8s.io":
        return getOnly(request) ?? this.#referred(node, "resourceclaim", request);
      case "volumeattachments.storage.k8s.io":
        return getOnly(request) ?? this.#related(node, request, () => this.#isAttachedHere(node, request.name));
      case "serviceaccounts":
        return this.#account(node, request);
      case "leases.coordination.k8s.io":
        return ofOwnName(node, request, "a node lease", "node lease", () =>
          request.namespace === "kube-node-lease"
            ? undefined
            : 'can only access leases in the "kube-node-lease" system namespace',
        );
      case "csinodes.storage.k8s.io":
        return ofOwnName(node, request, "a CSINode", "CSINode", () =>
          request.subresource === "" ? undefined : "cannot authorize CSINode subresources",
        );
      case "nodes":
        return ownNode(node, request);
      case "pods":
        return this.#pod(node, request);
      default:
        return undefined;
    }
  }

  #referred(node: string, kind: ReferredKind, request: Resource): Decision {
    return this.#related(node, request, () =>
      this.#options.references.has(node, reference(kind, request.namespace, request.name)),
    );
  }

  #related(node: string, { name }: Resource, isRelated: () => boolean): Decision {
    if (name === "") return no("No Object name found");
    return isRelated() ? YES : no(`no relationship found between node '${node}' and this object`);
  }

  #account(node: string, request: Resource): Decision {
    const { verb, subresource, name } = request;
    if (verb === "get" && subresource === "") {
      return readOnly(request) ?? this.#referred(node, "serviceaccount", request);
    }
    if (verb !== "create" || name === "") return no("can only create tokens for individual service accounts");
    if (subresource !== "token") return no("can only create token subresource of serviceaccount");
    return this.#referred(node, "serviceaccount", request);
  }

  #pod(node: string, request: Resource): Decision {
    const { verb, subresource, name, fieldSelector = "" } = request;
    if (subresource === "status") return verb === "update" || verb === "patch" ? YES : NOTHING;
    if (subresource === "eviction") return verb === "create" ? YES : NOTHING;
    if (subresource !== "") return NOTHING;
    if (verb === "create" || verb === "delete") return YES;
    if (verb === "get") return this.#referred(node, "pod", request);
    if (verb !== "list" && verb !== "watch") return NOTHING;
    const isOwn = fieldSelector.split(",").some((one) => /^spec\.nodeName==?/.test(one) && one.endsWith(`=${node}`));
    if (isOwn) return YES;
    if (name !== "") return this.#referred(node, "pod", request);
    return no("can only list/watch pods with spec.nodeName field selector");
  }

  #needsSecret(node: string, { namespace, name }: Resource): boolean {
    const { references } = this.#options;
    if (references.has(node, reference("secret", namespace, name))) return true;
    for (const volume of this.#volumes(node)) {
      for (const secret of volumeSecrets(volume)) {
        if (secret.name === name && secret.namespace === namespace) return true;
      }
    }
    return false;
  }

  *#volumes(node: string): Generator<PersistentVolume> {
    const { cluster, references } = this.#options;
    for (const one of references.of(node)) {
      if (!one.startsWith("claim ")) continue;
      const [namespace = "", name = ""] = one.slice("claim ".length).split("/");
      const claim = find<PersistentVolumeClaim>(cluster, "PersistentVolumeClaim", namespace, name);
      const volume = find<PersistentVolume>(cluster, "PersistentVolume", "", claim?.spec?.volumeName ?? "");
      // A claim may name any volume: only that which is bound to it is its own.
      const { claimRef } = volume?.spec ?? {};
      if (volume !== undefined && claimRef?.namespace === namespace && claimRef.name === name) yield volume;
    }
  }

  #needsVolume(node: string, name: string): boolean {
    const { cluster, references } = this.#options;
    const claim = find<PersistentVolume>(cluster, "PersistentVolume", "", name)?.spec?.claimRef;
    return references.has(node, reference("claim", claim?.namespace ?? "", claim?.name ?? ""));
  }

  #isAttachedHere(node: string, name: string): boolean {
    const { cluster } = this.#options;
    const attachment = find<VolumeAttachment>(cluster, "VolumeAttachment", "", name, "storage.k8s.io");
    return attachment?.spec.nodeName === node;
  }
}

function readOnly({ verb, subresource, namespace }: Resource): Decision | undefined {
  if (!["get", "list", "watch"].includes(verb)) return no("can only read resources of this type");
  if (subresource !== "") return no("cannot read subresource");
  return namespace === "" ? no("can only read namespaced object of this type") : undefined;
}

function getOnly({ verb, subresource }: Resource): Decision | undefined {
  if (verb !== "get") return no("can only get individual resources of this type");
  return subresource === "" ? undefined : no("cannot get subresource");
}

function statusOnly({ verb }: Resource): Decision | undefined {
  return verb === "update" || verb === "patch" ? undefined : no("can only get/update/patch this type");
}

/** Of objects that have the node's name. On create the name is not yet known: admission looks at it. */
function ofOwnName(
  node: string,
  { verb, name }: Resource,
  a: string,
  thing: string,
  problem: () => string | undefined,
): Decision {
  if (!["get", "create", "update", "patch", "delete"].includes(verb)) {
    return no(`can only get, create, update, patch, or delete ${a}`);
  }
  const other = problem();
  if (other !== undefined) return no(other);
  if (verb === "create" || name === node) return YES;
  return no(`can only access ${thing} with the same name as the requesting node`);
}

function ownNode(node: string, { verb, subresource, name }: Resource): Decision {
  if (subresource === "status") return verb === "update" || verb === "patch" ? YES : NOTHING;
  if (subresource !== "") return NOTHING;
  // Admission keeps it to its own.
  if (["create", "update", "patch"].includes(verb)) return YES;
  if (!["get", "list", "watch"].includes(verb)) return NOTHING;
  if (name === node) return YES;
  if (name === "") return no(`node '${node}' cannot read all nodes, only its own Node object`);
  return no(`node '${node}' cannot read '${name}', only its own Node object`);
}

function volumeSecrets({ spec }: PersistentVolume): { name?: string; namespace?: string }[] {
  const { csi, azureFile, cephfs, flexVolume, rbd, scaleIO, iscsi, claimRef } = spec ?? {};
  const here = claimRef?.namespace;
  const secrets = [
    csi?.controllerExpandSecretRef,
    csi?.controllerPublishSecretRef,
    csi?.nodeExpandSecretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace },
    ...[cephfs, flexVolume, rbd, scaleIO, iscsi].map((of) => of?.secretRef),
  ];
  return secrets
    .filter((secret) => secret !== undefined)
    .map((secret) => ({
      ...(secret.name !== undefined && { name: secret.name }),
      ...((secret.namespace ?? here) !== undefined && { namespace: secret.namespace ?? (here as string) }),
    }));
}
