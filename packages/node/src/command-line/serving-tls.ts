import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Clock } from "@fjord/base";
import type { ClusterConfig } from "@fjord/kube";
import type { ServingTls } from "../kubelet-api/index.ts";
import { generateKey, selfSignedCertificate } from "../registration/x509.ts";

export interface ServingTlsOptions {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly clientCa?: string;
  readonly nodeName: string;
  readonly addresses: readonly string[];
  readonly cluster: ClusterConfig;
  readonly clock: Clock;
}

const YEAR_MS = 365 * 24 * 3600 * 1000;

/** What the kubelet API serves with: the files given, else a certificate that the node signs itself. */
export async function servingTls(options: ServingTlsOptions): Promise<ServingTls> {
  const clientCa = options.clientCa === undefined ? options.cluster.tls.ca : await readFile(options.clientCa, "utf8");
  const believed = clientCa === undefined ? {} : { clientCa };
  if (options.tlsCert !== undefined && options.tlsKey !== undefined) {
    const [cert, key] = await Promise.all([readFile(options.tlsCert, "utf8"), readFile(options.tlsKey, "utf8")]);
    return { cert, key, ...believed };
  }
  const key = await generateKey();
  const now = options.clock.now();
  const names = [options.nodeName, ...options.addresses];
  const subject = { commonName: options.nodeName };
  const cert = selfSignedCertificate(createPrivateKey(key), subject, names, {
    from: now - 3_600_000,
    to: now + YEAR_MS,
  });
  return { cert, key, ...believed };
}
