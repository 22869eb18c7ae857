import type { Kind } from "@fjord/base";
import type { ICertificateSigningRequest } from "kubernetes-models/certificates.k8s.io/v1/CertificateSigningRequest";
import type { Typed } from "./typed.ts";

const group = { group: "certificates.k8s.io", version: "v1" } as const;

export type CertificateSigningRequest = Typed<ICertificateSigningRequest>;
export const CertificateSigningRequest: Kind<CertificateSigningRequest> = {
  ...group,
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  namespaced: false,
};
