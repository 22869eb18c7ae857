import { createHash, createPrivateKey, randomBytes } from "node:crypto";
import { CertificateSigningRequest, type KubeClient } from "@fjord/kube";
import { certificateRequest, generateKey } from "@fjord/node/registration";

/** Nobody signs for this name: such a request is only there to say who made it. */
export const LOGIN_SIGNER = "fjord.dev/page-login";
/** How old a request may be when its code is used. */
export const LOGIN_LIFETIME_MS = 120_000;

/** What a request for a code is called: the code cannot be had from it. */
export function loginName(code: string): string {
  return `fjord-page-login-${createHash("sha256").update(code).digest("hex").slice(0, 40)}`;
}

/**
 * Makes a code that opens the page once, as the user whom the client acts as. The API server writes that user's name and
 * groups into the request, which is how the agent knows them; the code itself is not sent to anybody here.
 */
export async function requestLogin(client: KubeClient, signal?: AbortSignal): Promise<string> {
  const code = randomBytes(32).toString("base64url");
  const key = createPrivateKey(await generateKey());
  await client.create(
    CertificateSigningRequest,
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: loginName(code) },
      spec: {
        request: Buffer.from(certificateRequest(key, { commonName: "fjord-page-login" })).toString("base64"),
        signerName: LOGIN_SIGNER,
        usages: ["client auth"],
      },
    },
    signal && { signal },
  );
  return code;
}

/** The path of the page that uses a code. What follows the `#` stays in the browser and is in no server's log. */
export function loginPath(code: string): string {
  return `/#login=${code}`;
}
