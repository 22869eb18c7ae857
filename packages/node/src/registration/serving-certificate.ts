import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { type CertificatePair, PkiDirectory, renewalTime, splitPair, validityOf } from "./pki-directory.ts";
import { requestCertificate } from "./signing-request.ts";
import { generateKey, selfSignedCertificate } from "./x509.ts";

export interface ServingCertificateOptions {
  readonly pkiDirectory: string;
  readonly nodeName: string;
  /** Names and addresses that the node is reached by. */
  readonly names: () => readonly string[];
  /** Files to use instead; they are read again when they change. */
  readonly files?: { readonly cert: string; readonly key: string };
  /**
   * Asks the cluster for a certificate that its API server can check; somebody has to approve it. Until then, and
   * without it, the node signs its own. @default false
   */
  readonly request?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const SELF_SIGNED = "serving-own";
const ISSUED = "serving";
const YEAR_MS = 365 * 24 * 3_600_000;
const LOOK_MS = 60_000;

/** The certificate that the kubelet API is served with. */
export class ServingCertificate {
  readonly #options: ServingCertificateOptions;
  readonly #pki: PkiDirectory;
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  #pair: CertificatePair | undefined;
  #changedAt = 0;

  constructor(options: ServingCertificateOptions) {
    this.#options = options;
    this.#pki = new PkiDirectory(options.pkiDirectory);
  }

  /** The pair to begin with; there always is one. */
  async load(): Promise<CertificatePair> {
    this.#pair = await this.#find();
    return this.#pair;
  }

  /** Told of each pair that comes instead, for `server.setSecureContext`. */
  onChange(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Keeps it good until `signal` aborts. */
  async run(client: Pick<KubeClient, "create" | "get">, signal: AbortSignal): Promise<void> {
    const { clock, random, logger, request } = this.#options;
    while (!signal.aborted) {
      try {
        if (this.#options.files !== undefined) await this.#reread();
        else if (request) await this.#requestWhenDue(client, signal);
        else await this.#renewOwn();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("cannot renew the certificate of the kubelet API", { error: describeError(error) });
      }
      await sleep(clock, LOOK_MS * (0.5 + random()), signal);
    }
  }

  async #find(): Promise<CertificatePair> {
    if (this.#options.files !== undefined) return this.#readFiles(this.#options.files);
    const issued = this.#options.request ? await this.#pki.pair(ISSUED) : undefined;
    if (issued !== undefined && this.#isGood(issued)) return issued;
    const own = await this.#pki.pair(SELF_SIGNED);
    return own !== undefined && this.#isGood(own) ? own : this.#makeOwn();
  }

  async #readFiles({ cert, key }: { cert: string; key: string }): Promise<CertificatePair> {
    this.#changedAt = Math.max(
      ...(await Promise.all([cert, key].map((file) => stat(file)))).map((each) => each.mtimeMs),
    );
    const [certText, keyText] = await Promise.all([readFile(cert, "utf8"), readFile(key, "utf8")]);
    return { cert: certText, key: keyText };
  }

  async #reread(): Promise<void> {
    const { files } = this.#options;
    if (files === undefined) return;
    const before = this.#changedAt;
    const pair = await this.#readFiles(files);
    // Between the writing of the one and of the other they do not match: the next look will find both.
    if (this.#changedAt > before && splitPair(pair.cert + pair.key) !== undefined) this.#use(pair);
  }

  async #renewOwn(): Promise<void> {
    const pair = this.#pair;
    if (pair !== undefined && this.#isGood(pair) && this.#options.clock.now() < renewalTime(pair, 0.5)) return;
    this.#use(await this.#makeOwn());
  }

  async #requestWhenDue(client: Pick<KubeClient, "create" | "get">, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const issued = await this.#pki.pair(ISSUED);
    if (issued !== undefined && this.#isGood(issued) && clock.now() < renewalTime(issued, 0.5)) {
      if (this.#pair?.cert !== issued.cert) this.#use(issued);
      return;
    }
    const key = (await this.#pki.read(`${ISSUED}-pending.key`)) ?? (await generateKey());
    await this.#pki.write(`${ISSUED}-pending.key`, key);
    const signer = "kubernetes.io/kubelet-serving" as const;
    const names = [...this.#options.names()];
    try {
      const cert = await requestCertificate({ ...this.#options, client, key, signer, names }, signal);
      await this.#pki.writePair(ISSUED, { cert, key });
      this.#use({ cert, key });
      logger.info("the kubelet API has a certificate of the cluster", { names });
    } finally {
      if (!signal.aborted) await this.#pki.remove(`${ISSUED}-pending.key`);
    }
  }

  async #makeOwn(): Promise<CertificatePair> {
    const { nodeName, names, clock } = this.#options;
    const key = await generateKey();
    const now = clock.now();
    const validity = { from: now - 3_600_000, to: now + YEAR_MS };
    const cert = selfSignedCertificate(createPrivateKey(key), { commonName: nodeName }, names(), validity);
    await this.#pki.writePair(SELF_SIGNED, { cert, key });
    return { cert, key };
  }

  /** Not expired, and for all the names that the node has now. */
  #isGood(pair: CertificatePair): boolean {
    const certificate = new X509Certificate(pair.cert);
    const covered = (name: string) =>
      (isIP(name) === 0 ? certificate.checkHost(name, { subject: "never" }) : certificate.checkIP(name)) !== undefined;
    return validityOf(pair).to > this.#options.clock.now() && this.#options.names().every(covered);
  }

  #use(pair: CertificatePair): void {
    this.#pair = pair;
    for (const listener of this.#listeners) listener(pair);
  }
}
