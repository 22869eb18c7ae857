import type { ICertificateSigningRequest } from "kubernetes-models/certificates.k8s.io/v1/CertificateSigningRequest";
import { parseSigningRequest } from "../../authentication/signing-request.ts";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { ageColumn, nameColumn, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { validateKubeFinalizers, validateObjectMetaUpdate } from "../object-meta.ts";
import type { Subresource } from "../resource-type.ts";
import { humanDuration } from "../values/duration.ts";
import { sameMeaning } from "../values/equality.ts";
import { dnsSubdomain, pathSegment } from "../values/name.ts";

type Request = DraftObject<ICertificateSigningRequest>;
type Condition = NonNullable<NonNullable<Request["status"]>["conditions"]>[number];

const usages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];
const verdicts = ["Approved", "Denied"];

export const certificateSigningRequest = defineResource<ICertificateSigningRequest>({
  group: "certificates.k8s.io",
  kind: "CertificateSigningRequest",
  nameRule: pathSegment,
  hasStatus: true,
  createsOnUpdate: false,
  // Who asks is for the server to say.
  prepareCreate(object, { caller }) {
    object.spec ??= {};
    const { spec } = object;
    spec.username = caller.user;
    if (caller.uid) spec.uid = caller.uid;
    else delete spec.uid;
    if (caller.groups.length > 0) spec.groups = [...caller.groups];
    else delete spec.groups;
    const extra = Object.entries(caller.extra ?? {});
    if (extra.length > 0) spec.extra = Object.fromEntries(extra.map(([key, values]) => [key, [...values]]));
    else delete spec.extra;
    object.status = {};
  },
  prepareUpdate(object, old) {
    object.spec = structuredClone(old.spec ?? {});
  },
  validate,
  validateUpdate: (object, old) => validateChange(object, old, "none"),
  subresources: {
    approval: view((object, sent) => {
      const { certificate } = object.status ?? {};
      const conditions = stamped(sent.status?.conditions, object.status?.conditions);
      object.status = { ...(conditions && { conditions }), ...(certificate && { certificate }) };
    }, "approval"),
    status: view((object, sent) => {
      const conditions = stamped(sent.status?.conditions, object.status?.conditions);
      const { certificate } = sent.status ?? {};
      object.status = { ...(conditions && { conditions }), ...(certificate && { certificate }) };
    }, "status"),
  },
  selectableFields: { "spec.signerName": ({ spec }) => spec?.signerName ?? "" },
  columns: [
    nameColumn(),
    ageColumn(),
    text("SignerName", ({ spec }) => spec?.signerName || "<none>"),
    text("Requestor", ({ spec }) => spec?.username ?? ""),
    text("RequestedDuration", ({ spec }) =>
      spec?.expirationSeconds === undefined ? "<none>" : humanDuration(spec.expirationSeconds * 1000),
    ),
    text("Condition", (object) => conditionText(object)),
  ],
});

function view(write: (object: Request, sent: Request) => void, what: "approval" | "status"): Subresource {
  return {
    type: "view",
    verbs: ["get", "patch", "update"],
    write: (object, sent) => write(object as Request, sent as Request),
    validate: (object, old) => [
      ...validateObjectMetaUpdate(object, old),
      ...validateKubeFinalizers(object.metadata.finalizers, "metadata.finalizers"),
      ...validateChange(object as Request, old as Request, what),
    ],
  };
}

/** A condition that comes anew has a time. */
function stamped(
  conditions: readonly Condition[] | undefined,
  before: readonly Condition[] | undefined,
): Condition[] | undefined {
  if (conditions === undefined || conditions.length === 0) return undefined;
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  return conditions.map((condition) => {
    const old = before?.find(({ type, status }) => type === condition.type && status === condition.status);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? old?.lastTransitionTime ?? now,
    };
  });
}

function validate(object: Request): FieldError[] {
  const { request = "", usages: asked = [], signerName = "", expirationSeconds } = object.spec ?? {};
  const errors: FieldError[] = [];
  try {
    parseSigningRequest(Buffer.from(request, "base64").toString());
  } catch {
    const why = "PEM block type must be CERTIFICATE REQUEST";
    errors.push(invalidField("spec.request", request, why));
  }
  if (asked.length === 0) errors.push(required("spec.usages"));
  for (const [i, usage = ""] of asked.entries()) {
    if (!usages.includes(usage)) errors.push(notSupported(`spec.usages[${i}]`, usage, usages));
    if (asked.indexOf(usage) < i) errors.push(duplicate(`spec.usages[${i}]`, usage));
  }
  if (signerName === "kubernetes.io/legacy-unknown") {
    const why = "the legacy signerName is not allowed via this API version";
    errors.push(invalidField("spec.signerName", signerName, why));
  } else errors.push(...validateSigner(signerName, "spec.signerName"));
  if (expirationSeconds !== undefined && expirationSeconds < 600) {
    const why = "may not specify a duration less than 600 seconds (10 minutes)";
    errors.push(invalidField("spec.expirationSeconds", expirationSeconds, why));
  }
  return [...errors, ...validateConditions(object)];
}

function validateSigner(name: string, path: string): FieldError[] {
  if (name === "") return [required(path)];
  const segments = name.split("/");
  if (segments.length !== 2) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidField(path, name, why)];
  }
  const [domain = "", signer = ""] = segments;
  const errors = dnsSubdomain(domain).map((one) => invalidField(path, domain, `validating label "${domain}": ${one}`));
  if (errors.length > 0) return errors;
  if (!domain.includes(".")) {
    return [invalidField(path, domain, "should be a domain with at least two segments separated by dots")];
  }
  return dnsSubdomain(signer).map((one) => invalidField(path, signer, one));
}

function validateConditions({ status }: Request): FieldError[] {
  const path = "status.conditions";
  const conditions = status?.conditions ?? [];
  const seen = new Set<string>();
  return conditions.flatMap(({ type = "", status: state = "" }, i) => {
    const errors: FieldError[] = type === "" ? [required(`${path}[${i}].type`)] : [];
    const allowed = [...verdicts, "Failed"].includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (state === "") errors.push(required(`${path}[${i}].status`));
    else if (!allowed.includes(state)) errors.push(notSupported(`${path}[${i}].status`, state, allowed));
    const other = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (other !== undefined && seen.has(other)) {
      errors.push(invalidField(path, type, "Approved and Denied conditions are mutually exclusive"));
    }
    if (seen.has(type)) errors.push(duplicate(`${path}[${i}].type`, type));
    seen.add(type);
    return errors;
  });
}

function validateChange(object: Request, old: Request, by: "none" | "approval" | "status"): FieldError[] {
  const errors = validate(object);
  const of = ({ status }: Request, wanted: string) => (status?.conditions ?? []).filter(({ type }) => type === wanted);
  for (const type of ["Approved", "Denied", "Failed"]) {
    const [now, before] = [of(object, type), of(old, type)];
    if (now.length < before.length) {
      errors.push(forbiddenField("status.conditions", `updates may not remove a condition of type "${type}"`));
    } else if (by !== "approval" && type !== "Failed") {
      if (now.length > before.length) {
        errors.push(forbiddenField("status.conditions", `updates may not add a condition of type "${type}"`));
      } else if (!sameMeaning(now, before)) {
        errors.push(forbiddenField("status.conditions", `updates may not modify a condition of type "${type}"`));
      }
    }
  }
  const [now, before] = [object.status?.certificate ?? "", old.status?.certificate ?? ""];
  if (now === before) return errors;
  if (by !== "status")
    return [...errors, forbiddenField("status.certificate", "updates may not set certificate content")];
  if (before === "") return errors;
  return [...errors, forbiddenField("status.certificate", "updates may not modify existing certificate content")];
}

function conditionText({ status }: Request): string {
  const is = (wanted: string) => (status?.conditions ?? []).some(({ type }) => type === wanted);
  const verdict = is("Denied") ? "Denied" : is("Approved") ? "Approved" : "Pending";
  return `${verdict}${is("Failed") ? ",Failed" : ""}${status?.certificate ? ",Issued" : ""}`;
}
