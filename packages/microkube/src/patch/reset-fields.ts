import type { Schema } from "../schema/schema.ts";
import type { ResetFields } from "./patch.ts";

/** Where writing the status leaves alone more than the spec. */
const beyondSpec: Record<string, ResetFields> = {
  "/Pod": [
    ["metadata", "deletionTimestamp"],
    ["metadata", "ownerReferences"],
  ],
  "apps/Deployment": [["metadata", "labels"]],
  "networking.k8s.io/ServiceCIDR": [["metadata"]],
  "storage.k8s.io/VolumeAttachment": [["metadata"]],
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": [["metadata"]],
  "apiregistration.k8s.io/APIService": [["metadata"]],
  "certificates.k8s.io/CertificateSigningRequest": [["status", "conditions"]],
};

/** What of a pod each of its own ways to write it may change. */
const onlyOfPod: Record<string, string> = { ephemeralcontainers: "ephemeralContainers", resize: "containers" };

/**
 * What a write through a path cannot set, and its manager so cannot come to own. `subresource` is empty for the object
 * itself; `isCustom`: of a custom resource, which has a status of its own.
 */
export function resetFieldsFor(
  { group, kind, isCustom = false }: { group: string; kind: string; isCustom?: boolean },
  subresource: string,
  schema?: Schema,
): ResetFields {
  const name = `${group}/${kind}`;
  if (name === "/Pod" && subresource in onlyOfPod) return allBut(onlyOfPod[subresource] ?? "", schema);
  if (subresource === "status") return [["spec"], ...(isCustom ? [["metadata"]] : (beyondSpec[name] ?? []))];
  if (name === "certificates.k8s.io/CertificateSigningRequest") {
    return subresource === "approval" ? [["spec"], ["status", "certificate"]] : [["spec"], ["status"]];
  }
  return subresource === "" || subresource === "finalize" ? [["status"]] : [];
}

function allBut(field: string, schema: Schema | undefined): ResetFields {
  const fields = Object.keys(schema?.properties?.spec?.properties ?? {}).filter((name) => name !== field);
  return [["status"], ["metadata"], ...fields.map((name) => ["spec", name])];
}
