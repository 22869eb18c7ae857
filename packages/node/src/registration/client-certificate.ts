import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import type { Credential, Credentials, KubeClient } from "@fjord/kube";
import { type CertificatePair, type PkiDirectory, renewalTime, validityOf } from "./pki-directory.ts";
import { requestCertificate } from "./signing-request.ts";
import { generateKey } from "./x509.ts";

export interface ClientCertificateOptions {
  readonly pki: PkiDirectory;
  readonly nodeName: string;
  readonly pair: CertificatePair;
  readonly expirationSeconds?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const CLIENT = "client";
const RETRY_MS = 60_000;

/**
 * The certificate that this node speaks to the API with, replaced in good time. A client that has it as its credentials
 * takes the new one for new connections, while watches go on with the old.
 */
export class ClientCertificate implements Credentials {
  readonly #options: ClientCertificateOptions;
  #pair: CertificatePair;

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
    this.#pair = options.pair;
  }

  get pair(): CertificatePair {
    return this.#pair;
  }

  get expiresAt(): number {
    return validityOf(this.#pair).to;
  }

  async current(): Promise<Credential> {
    return this.#pair;
  }

  /** A refused certificate is not helped by reading it again. */
  rejected(): void {}

  /** Replaces the certificate whenever it is time, until `signal` aborts. */
  async run(client: Pick<KubeClient, "create" | "get">, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    while (!signal.aborted) {
      const due = renewalTime(this.#pair, random());
      await sleep(clock, due - clock.now(), signal);
      if (signal.aborted) return;
      try {
        await this.renew(client, signal);
      } catch (error) {
        if (signal.aborted) return;
        const expires = new Date(this.expiresAt).toISOString();
        logger.error("cannot replace the node's certificate", { expires, error: describeError(error) });
        await sleep(clock, RETRY_MS * (1 + random()), signal);
      }
    }
  }

  /** Replaces it now. */
  async renew(client: Pick<KubeClient, "create" | "get">, signal: AbortSignal): Promise<void> {
    const { pki, nodeName, expirationSeconds, clock, random, logger } = this.#options;
    const pair = await obtainPair({ client, pki, nodeName, expirationSeconds, clock, random, logger }, signal);
    this.#pair = pair;
    logger.info("the node's certificate was replaced", { expires: new Date(this.expiresAt).toISOString() });
  }
}

export interface ObtainOptions extends Omit<ClientCertificateOptions, "pair" | "expirationSeconds"> {
  readonly client: Pick<KubeClient, "create" | "get">;
  readonly expirationSeconds?: number | undefined;
}

/**
 * A new key and a certificate for it, on disk when this returns. The key is on disk before it is used, so that a crash
 * while a request waits for approval does not make a second request.
 */
export async function obtainPair(options: ObtainOptions, signal: AbortSignal): Promise<CertificatePair> {
  const { pki, expirationSeconds, ...rest } = options;
  const pending = `${CLIENT}-pending.key`;
  let key = await pki.read(pending);
  if (key === undefined) {
    key = await generateKey();
    await pki.write(pending, key);
  }
  try {
    const signer = "kubernetes.io/kube-apiserver-client-kubelet" as const;
    const request = { ...rest, key, signer, ...(expirationSeconds !== undefined && { expirationSeconds }) };
    const cert = await requestCertificate(request, signal);
    await pki.writePair(CLIENT, { cert, key });
    await pki.remove(pending);
    return { cert, key };
  } catch (error) {
    // What was refused once will be refused again; only a new key makes a new request.
    if (!signal.aborted && isFinal(error)) await pki.remove(pending);
    throw error;
  }
}

function isFinal(error: unknown): boolean {
  return ["NODE_CERTIFICATE_DENIED", "NODE_CERTIFICATE_STRANGE"].includes(String((error as { code?: unknown }).code));
}
