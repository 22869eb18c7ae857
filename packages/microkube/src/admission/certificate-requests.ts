import { isDeepStrictEqual } from "node:util";
import type { CertificateSigningRequest } from "@fjord/kube";
import { parseSigningRequest } from "../authentication/signing-request.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { refusal } from "./refusal.ts";

const GROUP = "certificates.k8s.io";

function isRequest({ type, operation }: AdmissionRequest, wanted: AdmissionRequest["operation"]): boolean {
  return type.plural === "certificatesigningrequests" && type.group === GROUP && operation === wanted;
}

/** Who approves needs the verb `approve` for the signer. */
export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    async validate(request) {
      if (!isRequest(request, "UPDATE") || request.subresource !== "approval") return;
      const { signerName } = (request.old as CertificateSigningRequest).spec;
      if (await isAllowed(authorizer, request, "approve", signerName)) return;
      throw refusal(request, `user not permitted to approve requests with signerName ${JSON.stringify(signerName)}`);
    },
  };
}

/** Who signs needs the verb `sign` for the signer. */
export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    async validate(request) {
      if (!isRequest(request, "UPDATE") || request.subresource !== "status") return;
      const old = request.old as CertificateSigningRequest;
      const { status } = request.object as CertificateSigningRequest;
      const isSame = (name: "certificate" | "conditions") => isDeepStrictEqual(status?.[name], old.status?.[name]);
      if (isSame("certificate") && isSame("conditions")) return;
      const { signerName } = old.spec;
      if (await isAllowed(authorizer, request, "sign", signerName)) return;
      throw refusal(request, `user not permitted to sign requests with signerName ${JSON.stringify(signerName)}`);
    },
  };
}

const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";

/** Nobody becomes a master by a certificate. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  validate(request) {
    if (!isRequest(request, "CREATE") || request.subresource !== "") return;
    const { spec } = request.object as CertificateSigningRequest;
    if (spec.signerName !== CLIENT_SIGNER) return;
    let organizations: readonly string[];
    try {
      organizations = parseSigningRequest(Buffer.from(spec.request ?? "", "base64").toString("latin1")).subject
        .organizations;
    } catch (error) {
      throw refusal(request, `failed to parse CSR: ${(error as Error).message}`);
    }
    if (!organizations.includes("system:masters")) return;
    throw refusal(request, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
  },
};

/** For the signer itself, or for all of its domain. */
async function isAllowed(
  authorizer: Authorizer,
  { caller }: AdmissionRequest,
  verb: string,
  signerName: string,
): Promise<boolean> {
  const about = { verb, group: GROUP, version: "*", resource: "signers", subresource: "", namespace: "" };
  const names = [signerName, `${signerName.split("/")[0]}/*`];
  for (const name of names) if ((await authorizer.authorize(caller, { ...about, name })).allowed) return true;
  return false;
}
