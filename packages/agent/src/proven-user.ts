import { createHash, createPrivateKey, randomBytes } from "node:crypto";
import type { Clock } from "@fjord/base";
import { CertificateSigningRequest, type Impersonation, ifNotFound, type KubeClient } from "@fjord/kube";
import { certificateRequest, generateKey } from "@fjord/node/registration";

/** How old a request may be when its code is used. */
export const PROOF_LIFETIME_MS = 120_000;

/** For what somebody says who they are: `page-login` or `network-capture`. Nobody signs for such a name. */
export type ProofPurpose = "page-login" | "network-capture";

export const signerOf = (purpose: ProofPurpose) => `fjord.dev/${purpose}`;

/** What a request for a code is called: the code cannot be had from it. */
export function proofName(purpose: ProofPurpose, code: string): string {
  return `fjord-${purpose}-${createHash("sha256").update(code).digest("hex").slice(0, 40)}`;
}

/**
 * Makes a code that shows who the client acts as. The API server writes that user's name and groups into the request, by whatever they have shown to it;
 * the code itself is not sent to anybody here.
 */
export async function requestProof(client: KubeClient, purpose: ProofPurpose, signal?: AbortSignal): Promise<string> {
  const code = randomBytes(32).toString("base64url");
  const key = createPrivateKey(await generateKey());
  await client.create(
    CertificateSigningRequest,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: proofName(purpose, code) },
      spec: {
        request: Buffer.from(certificateRequest(key, { commonName: `fjord-${purpose}` })).toString("base64"),
        signerName: signerOf(purpose),
        usages: ["client auth"],
      },
    },
    signal && { signal },
  );
  return code;
}

/** Whom a code shows. */
export interface ProvenUser {
  readonly who: Impersonation;
  /** Of the request. */
  readonly uid: string | undefined;
  /** Whether it is young enough to count. */
  readonly isFresh: boolean;
}

/** Who made the request that a code belongs to, as the API server has written it there; undefined where there is none of it. */
export async function provenUser(
  client: Pick<KubeClient, "get">,
  purpose: ProofPurpose,
  code: string,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<ProvenUser | undefined> {
  const key = { name: proofName(purpose, code) };
  const request = await client.get(CertificateSigningRequest, key, signal && { signal }).catch(ifNotFound);
  const { uid, creationTimestamp = "" } = request?.metadata ?? {};
  const { signerName, username, groups = [] } = request?.spec ?? {};
  if (signerName !== signerOf(purpose) || !username) return undefined;
  const isFresh = clock.now() - Date.parse(creationTimestamp) <= PROOF_LIFETIME_MS;
  return { who: { user: username, groups }, uid, isFresh };
}
