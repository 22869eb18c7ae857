import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { Backoff, type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { ApiError, CertificateSigningRequest, isAlreadyExists, isNotFound, type KubeClient } from "@fjord/kube";
import { CertificateDenied, CertificateStrange } from "./errors.ts";
import { type AlternativeNames, certificateRequest, publicKeyOf } from "./x509.ts";

export interface SigningOptions {
  readonly client: Pick<KubeClient, "create" | "get">;
  readonly nodeName: string;
  /** PEM. */
  readonly key: string;
  readonly signer: "kubernetes.io/kube-apiserver-client-kubelet" | "kubernetes.io/kubelet-serving";
  readonly names?: AlternativeNames;
  /** How long the certificate should be good for; the signer may give less. */
  readonly expirationSeconds?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const REMIND_MS = 30_000;

/**
 * Asks the cluster for a certificate and waits for it, for as long as it takes. The request is named after the key, so
 * that asking again after a crash finds the one that was made before.
 */
export async function requestCertificate(options: SigningOptions, signal: AbortSignal): Promise<string> {
  const { clock, random, logger } = options;
  const request = forgeRequest(options);
  const name = request.metadata.name ?? "";
  const backoff = new Backoff({ initial: 200, max: 5_000, random });
  let remindAt = clock.now();
  for (;;) {
    signal.throwIfAborted();
    const found = await findOrCreate(options, request, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      // A refusal will not pass by itself; silence may.
      if (error instanceof ApiError && error.statusCode < 500) throw error;
      if (clock.now() >= remindAt) logger.warn("cannot ask for a certificate yet", { error: describeError(error) });
      return undefined;
    });
    const certificate = found && issued(found, name, options.key);
    if (certificate !== undefined) return certificate;
    if (clock.now() >= remindAt) {
      remindAt = clock.now() + REMIND_MS;
      if (found !== undefined && backoff.failures > 2)
        logger.info("waiting for the approval of a certificate: `kubectl certificate approve` gives it", {
          request: name,
          signer: options.signer,
        });
    }
    await sleep(clock, backoff.next(), signal);
  }
}

/** Pure. */
export function forgeRequest(options: SigningOptions): CertificateSigningRequest {
  const { nodeName, signer, names = [], expirationSeconds } = options;
  const key = createPrivateKey(options.key);
  const subject = { commonName: `system:node:${nodeName}`, organization: "system:nodes" };
  const id = createHash("sha256")
    .update(JSON.stringify([signer, nodeName, names]))
    .update(publicKeyOf(key));
  const usage = signer === "kubernetes.io/kubelet-serving" ? "server auth" : "client auth";
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: `node-csr-${id.digest("hex").slice(0, 40)}` },
    spec: {
      request: Buffer.from(certificateRequest(key, subject, names)).toString("base64"),
      signerName: signer,
      usages: ["digital signature", usage],
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    },
  };
}

async function findOrCreate(
  { client }: SigningOptions,
  request: CertificateSigningRequest,
  signal: AbortSignal,
): Promise<CertificateSigningRequest> {
  const key = { name: request.metadata.name ?? "" };
  try {
    return await client.get(CertificateSigningRequest, key, { signal });
  } catch (error) {
    // Requests that nobody answers are forgotten after a day, and then made again.
    if (!isNotFound(error)) throw error;
  }
  try {
    return await client.create(CertificateSigningRequest, request, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(CertificateSigningRequest, key, { signal });
  }
}

function issued(found: CertificateSigningRequest, request: string, key: string): string | undefined {
  const { conditions = [], certificate } = found.status ?? {};
  const refusal = conditions.find(({ type }) => type === "Denied" || type === "Failed");
  if (refusal !== undefined) {
    throw new CertificateDenied({ request, reason: refusal.message || refusal.reason || refusal.type });
  }
  if (!certificate) return undefined;
  const text = Buffer.from(certificate, "base64").toString("utf8");
  const problem = problemOf(text, key);
  if (problem !== undefined) throw new CertificateStrange({ request, problem });
  return text;
}

function problemOf(certificate: string, key: string): string | undefined {
  try {
    const matches = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return matches ? undefined : "it is for another key";
  } catch (error) {
    return describeError(error);
  }
}
