import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { VIRTUAL_NODE } from "@fjord/api";
import { describeError, sleep } from "@fjord/base";
import { CertificateSigningRequest, ifNotFound, isNotFound, type KubeClient, Secret } from "@fjord/kube";
import { type CertificatePair, generateKey, requestCertificate, selfSignedCertificate } from "@fjord/node/registration";
import type { Home } from "../../home.ts";

export interface NodeCertificatesOptions {
  readonly home: Pick<Home, "client" | "namespace" | "clock" | "random" | "logger">;
  /** Where the own API server reaches the kubelet APIs. */
  readonly address: string;
  /** How long the cluster may take to sign one. @default 30000 */
  readonly patienceMs?: number;
}

const YEAR_MS = 365 * 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const FIELD_MANAGER = "fjord-offload";
const SIGNER = "kubernetes.io/kubelet-serving";

/**
 * Certificates that virtual nodes serve the kubelet API with: signed by the cluster, so that an API server which checks
 * kubelets believes them; by this process where nobody signs.
 */
export class NodeCertificates {
  readonly #options: NodeCertificatesOptions;
  #own: Promise<CertificatePair> | undefined;

  constructor(options: NodeCertificatesOptions) {
    this.#options = options;
  }

  /** The pair to begin with; there always is one. */
  async load(node: string, signal: AbortSignal): Promise<CertificatePair> {
    const stored = await this.#stored(node, signal);
    if (stored !== undefined) return stored;
    this.#own ??= this.#makeOwn();
    return this.#own;
  }

  /** Has the cluster sign one, and the next one in good time, until `signal` aborts. */
  async keep(node: string, use: (pair: CertificatePair) => void, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options.home;
    while (!signal.aborted) {
      try {
        let pair = await this.#stored(node, signal);
        if (pair === undefined || clock.now() >= renewalOf(pair)) {
          pair = await this.#request(node, signal);
          await this.#store(node, pair, signal);
          use(pair);
          logger.info("the cluster has signed a virtual node's certificate", { node });
        }
        await sleep(clock, renewalOf(pair) - clock.now() + random() * 60_000, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("a virtual node has no certificate of the cluster: an API server that checks kubelets refuses it", {
          node,
          error: describeError(error),
        });
        await sleep(clock, HOUR_MS * (0.5 + random()), signal);
      }
    }
  }

  /** For a node that is gone. */
  async forget(node: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    await client.delete(Secret, this.#key(node), { signal }).catch(ifNotFound);
  }

  async #request(node: string, signal: AbortSignal): Promise<CertificatePair> {
    const { home, address, patienceMs = 30_000 } = this.#options;
    const { client, clock } = home;
    const key = await generateKey();
    const late = new AbortController();
    const cancel = clock.after(patienceMs, () => late.abort(new Error(`nobody signed it within ${patienceMs} ms`)));
    let name: string | undefined;
    try {
      const asking = asNode(client, node, (made) => {
        name = made;
      });
      const either = AbortSignal.any([signal, late.signal]);
      const names = [address, ...(isIP(node) === 0 ? [node] : [])];
      const request = { ...home, client: asking, nodeName: node, key, signer: SIGNER, names } as const;
      return { key, cert: await requestCertificate(request, either) };
    } finally {
      cancel();
      if (name !== undefined) await this.#tidy(name);
    }
  }

  /** Requests would be forgotten by the cluster within hours; what nobody signs would lie there for a day. */
  async #tidy(name: string): Promise<void> {
    const { client, logger } = this.#options.home;
    await client.delete(CertificateSigningRequest, { name }).catch((error: unknown) => {
      logger.debug("cannot delete a request for a certificate", { request: name, error: describeError(error) });
    });
  }

  async #stored(node: string, signal: AbortSignal): Promise<CertificatePair | undefined> {
    const { client, clock } = this.#options.home;
    try {
      const { data = {} } = await client.get(Secret, this.#key(node), { signal });
      const pair = { cert: decoded(data["tls.crt"]), key: decoded(data["tls.key"]) };
      return isGood(pair, this.#options.address, clock.now()) ? pair : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #store(node: string, { cert, key }: CertificatePair, signal: AbortSignal): Promise<void> {
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { ...this.#key(node), labels: { [VIRTUAL_NODE]: "true" } },
      type: "kubernetes.io/tls",
      data: { "tls.crt": encoded(cert), "tls.key": encoded(key) },
    } satisfies Secret;
    await this.#options.home.client.apply(Secret, secret, { fieldManager: FIELD_MANAGER, force: true, signal });
  }

  async #makeOwn(): Promise<CertificatePair> {
    const { home, address } = this.#options;
    const key = await generateKey();
    const now = home.clock.now();
    const validity = { from: now - HOUR_MS, to: now + YEAR_MS };
    const subject = { commonName: "fjord-virtual-node" };
    return { key, cert: selfSignedCertificate(createPrivateKey(key), subject, [address], validity) };
  }

  #key(node: string): { name: string; namespace: string } {
    return { name: `fjord-node-${node}`, namespace: this.#options.home.namespace };
  }
}

/** Asks as the node itself, as signers demand, and approves with the agent's own rights. */
function asNode(client: KubeClient, node: string, made: (name: string) => void): Pick<KubeClient, "create" | "get"> {
  const asking = client.impersonating({
    user: `system:node:${node}`,
    groups: ["system:nodes", "system:authenticated"],
  });
  const create = async (request: CertificateSigningRequest, signal: AbortSignal | undefined) => {
    const options = signal === undefined ? {} : { signal };
    const found = await asking.create(CertificateSigningRequest, request, options);
    made(found.metadata.name ?? "");
    const approved = { type: "Approved", status: "True", reason: "VirtualNode", message: "a virtual node of Fjord" };
    const update = { ...found, status: { ...found.status, conditions: [approved] } };
    return client.update(CertificateSigningRequest, update, { subresource: "approval", ...options });
  };
  return {
    create: (_kind, object, options) =>
      create(object as unknown as CertificateSigningRequest, options?.signal) as Promise<never>,
    get: (kind, key, options) => client.get(kind, key, options),
  };
}

/** Not expired, matching, and for the address that the API server uses. */
export function isGood({ cert, key }: CertificatePair, address: string, now: number): boolean {
  try {
    const certificate = new X509Certificate(cert);
    const covered = isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address);
    const { validTo, validFrom } = certificate;
    if (covered === undefined || Date.parse(validTo) <= now || Date.parse(validFrom) > now) return false;
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    // Whatever is in the Secret is no pair: then another is asked for.
    return false;
  }
}

/** When two thirds of its time are over. */
export function renewalOf({ cert }: Pick<CertificatePair, "cert">): number {
  const { validFrom, validTo } = new X509Certificate(cert);
  return Date.parse(validFrom) + ((Date.parse(validTo) - Date.parse(validFrom)) * 2) / 3;
}

function decoded(text: string | undefined): string {
  return Buffer.from(text ?? "", "base64").toString("utf8");
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}
