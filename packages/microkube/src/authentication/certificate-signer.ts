import { type CertificateRequest, type KeyUsageBit, x509Ids } from "@fjord/base";
import type { CertificateSigningRequest } from "@fjord/kube";
import type { Authority } from "./authority.ts";
import { certificateSubject } from "./subject-name.ts";

/** The signers that a cluster has of its own. */
export const KUBE_SIGNERS = [
  "kubernetes.io/kube-apiserver-client",
  "kubernetes.io/kube-apiserver-client-kubelet",
  "kubernetes.io/kubelet-serving",
] as const;

const YEAR_MS = 365 * 24 * 3_600_000;
const BACKDATE_MS = 5 * 60_000;
/** Certificates for less than this are not dated back on top of what was asked for. */
const SHORT_MS = 8 * 3_600_000;

const keyUsages: Readonly<Record<string, KeyUsageBit>> = {
  signing: "digital signature",
  "digital signature": "digital signature",
  "content commitment": "content commitment",
  "key encipherment": "key encipherment",
  "key agreement": "key agreement",
  "data encipherment": "data encipherment",
  "cert sign": "cert sign",
  "crl sign": "crl sign",
  "encipher only": "encipher only",
};

const extendedUsages: Readonly<Record<string, string>> = {
  any: "2.5.29.37.0",
  "server auth": x509Ids.serverAuth,
  "client auth": x509Ids.clientAuth,
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
};

/** Why a signer does not sign a request that was approved; undefined where it does. */
export function signingProblem(
  spec: CertificateSigningRequest["spec"],
  request: CertificateRequest,
): string | undefined {
  const usages = new Set(spec.usages ?? []);
  switch (spec.signerName) {
    case "kubernetes.io/kube-apiserver-client":
      return clientUsageProblem([...usages]);
    case "kubernetes.io/kube-apiserver-client-kubelet":
      return nodeProblem(request) ?? noNamesProblem(request) ?? usageProblem(usages, "client auth");
    case "kubernetes.io/kubelet-serving": {
      if (request.dnsNames.length + request.addresses.length === 0 && nodeOrganization(request)) {
        return "DNS or IP subjectAltName is required";
      }
      return nodeProblem(request) ?? otherNamesProblem(request) ?? usageProblem(usages, "server auth");
    }
    default:
      return "the signer is not known";
  }
}

const nodeOrganization = ({ subject }: CertificateRequest) =>
  subject.organizations.length === 1 && subject.organizations[0] === "system:nodes";

function nodeProblem(request: CertificateRequest): string | undefined {
  if (!nodeOrganization(request)) return "subject organization is not system:nodes";
  const isNode = request.subject.commonName.startsWith("system:node:");
  return isNode ? undefined : "subject common name does not begin with system:node:";
}

function noNamesProblem(request: CertificateRequest): string | undefined {
  if (request.dnsNames.length > 0) return "DNS subjectAltNames are not allowed";
  if (request.addresses.length > 0) return "IP subjectAltNames are not allowed";
  return otherNamesProblem(request);
}

function otherNamesProblem({ emails, uris }: CertificateRequest): string | undefined {
  if (emails.length > 0) return "Email subjectAltNames are not allowed";
  return uris.length > 0 ? "URI subjectAltNames are not allowed" : undefined;
}

/** Key encipherment is for RSA keys, and others do without. */
function usageProblem(usages: ReadonlySet<string>, purpose: string): string | undefined {
  const needed = new Set([purpose, "digital signature"]);
  const rest = [...usages].filter((usage) => usage !== "key encipherment");
  const isRight = rest.length === needed.size && rest.every((usage) => needed.has(usage));
  const all = [purpose, "digital signature", "key encipherment"].sort();
  return isRight ? undefined : `usages did not match [${all.join(" ")}]`;
}

function clientUsageProblem(usages: readonly string[]): string | undefined {
  const allowed = ["digital signature", "key encipherment", "client auth"];
  const strange = usages.find((usage) => !allowed.includes(usage));
  if (strange !== undefined) return `invalid usage for client certificate: ${strange}`;
  return usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth";
}

/** The certificate for a request, in PEM. */
export function signRequest(
  authority: Authority,
  spec: CertificateSigningRequest["spec"],
  request: CertificateRequest,
  now: number,
): string {
  const { usages = [], expirationSeconds } = spec;
  const asked = expirationSeconds === undefined ? YEAR_MS : expirationSeconds * 1000;
  const lifetime = Math.min(asked, YEAR_MS);
  const from = now - BACKDATE_MS;
  return authority.issue({
    subject: certificateSubject(request.subject.raw),
    publicKey: request.publicKey,
    ...(request.alternativeNames && { names: request.alternativeNames }),
    keyUsages: [...new Set(usages.map((usage) => keyUsages[usage]).filter((usage) => usage !== undefined))],
    extendedKeyUsages: usages.map((usage) => extendedUsages[usage]).filter((oid) => oid !== undefined),
    validity: { from, to: (lifetime < SHORT_MS ? now : from) + lifetime },
  });
}

export type Approval = "selfnodeclient" | "nodeclient";

/** The permissions of which one lets the requester have it without anybody's approval. */
export function autoApprovals(spec: CertificateSigningRequest["spec"], request: CertificateRequest): Approval[] {
  const isNodeClient =
    spec.signerName === "kubernetes.io/kube-apiserver-client-kubelet" && signingProblem(spec, request) === undefined;
  if (!isNodeClient) return [];
  return spec.username === request.subject.commonName ? ["selfnodeclient", "nodeclient"] : ["nodeclient"];
}

export const approvalMessages: Readonly<Record<Approval, string>> = {
  selfnodeclient: "Auto approving self kubelet client certificate after SubjectAccessReview.",
  nodeclient: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

const HOUR_MS = 3_600_000;

/** When a request that nobody needs any more goes. */
export function expiryOf({ metadata, status }: CertificateSigningRequest): number {
  const conditions = status?.conditions ?? [];
  const time = (text: string | undefined) => Date.parse(text ?? "") || 0;
  const decided = conditions.find(({ type }) => type === "Approved" || type === "Denied" || type === "Failed");
  if (decided === undefined) return time(metadata.creationTimestamp) + 24 * HOUR_MS;
  return (time(decided.lastUpdateTime) || time(metadata.creationTimestamp)) + HOUR_MS;
}
