import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import {
  ApiError,
  type ClusterConfig,
  clusterConfig,
  isForbidden,
  isUnauthorized,
  KubeClient,
  loadClusterConfig,
} from "@fjord/kube";
import { CLIENT, ClientCertificate, obtainPair } from "./client-certificate.ts";
import { discoverAuthority } from "./cluster-info.ts";
import {
  BootstrapNotAllowed,
  BootstrapTokenRefused,
  IdentityMismatch,
  NoWayToJoin,
  ServerNotTrusted,
} from "./errors.ts";
import { kubeconfigText, parseNodeKubeconfig } from "./node-kubeconfig.ts";
import { type CertificatePair, PkiDirectory, validityOf } from "./pki-directory.ts";

export interface BootstrapOptions {
  readonly server: string;
  /** `abcdef.0123456789abcdef`, or any token that may ask for certificates of nodes. */
  readonly token: string;
  /** PEM. */
  readonly ca?: string;
  /** Instead of the authority itself: `sha256:…` of its public key. */
  readonly caHashes?: readonly string[];
}

export interface JoinOptions {
  readonly nodeName: string;
  /** `pki` in the node's state directory. */
  readonly pkiDirectory: string;
  /** A file to use as it is. */
  readonly kubeconfig?: string;
  readonly bootstrap?: BootstrapOptions;
  /** How long the node's certificates should be good for. @default what the cluster gives */
  readonly expirationSeconds?: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface JoinedCluster {
  readonly config: ClusterConfig;
  /** To be run, so that it is replaced in time; absent where credentials were given. */
  readonly certificate?: ClientCertificate;
}

export const KUBECONFIG = "kubeconfig";

/**
 * Finds out how this node speaks to its API: by the kubeconfig given, by the certificate that it was issued before, or
 * by asking for one with a bootstrap token, which then is not needed again.
 */
export async function joinCluster(options: JoinOptions, signal: AbortSignal): Promise<JoinedCluster> {
  const { kubeconfig, env, clock, logger } = options;
  if (kubeconfig !== undefined) return { config: await loadClusterConfig({ kubeconfig, env, clock, logger }) };
  const pki = new PkiDirectory(options.pkiDirectory);
  const known = await remembered(options, pki);
  if (known !== undefined) return joined(options, pki, known);
  const { bootstrap, nodeName: name } = options;
  if (bootstrap === undefined) throw new NoWayToJoin({ name, pki: pki.path });
  return joined(options, pki, await bootstrapped(options, pki, bootstrap, signal));
}

interface Remembered {
  readonly server: string;
  readonly ca: string | undefined;
  readonly pair: CertificatePair;
}

async function remembered(options: JoinOptions, pki: PkiDirectory): Promise<Remembered | undefined> {
  const { nodeName: name, bootstrap, clock, logger } = options;
  const pair = await pki.pair(CLIENT);
  const text = await pki.read(KUBECONFIG);
  const cluster = text === undefined ? undefined : parseNodeKubeconfig(text);
  if (pair === undefined || cluster === undefined) return undefined;
  const found = /CN=(.*)/.exec(new X509Certificate(pair.cert).subject)?.[1] ?? "nobody";
  if (found !== `system:node:${name}`) {
    if (bootstrap !== undefined) return undefined;
    throw new IdentityMismatch({ pki: pki.path, found, name });
  }
  if (bootstrap !== undefined && bootstrap.server.replace(/\/+$/, "") !== cluster.server) return undefined;
  if (validityOf(pair).to <= clock.now()) {
    if (bootstrap !== undefined) return undefined;
    // Pods can still be kept running, which is more than ending here would do.
    logger.error("the node's certificate has expired: the API will refuse it until a bootstrap token is given", {
      expired: new Date(validityOf(pair).to).toISOString(),
    });
  }
  return { ...cluster, pair };
}

function joined(options: JoinOptions, pki: PkiDirectory, { server, ca, pair }: Remembered): JoinedCluster {
  const { nodeName, expirationSeconds, clock, random, logger } = options;
  const expiration = expirationSeconds !== undefined && { expirationSeconds };
  const certificate = new ClientCertificate({ pki, nodeName, pair, clock, random, logger, ...expiration });
  return { config: clusterConfig({ server, credentials: certificate, ...(ca !== undefined && { ca }) }), certificate };
}

async function bootstrapped(
  options: JoinOptions,
  pki: PkiDirectory,
  bootstrap: BootstrapOptions,
  signal: AbortSignal,
): Promise<Remembered> {
  const { nodeName, expirationSeconds, clock, random, logger } = options;
  const ca = await patiently(options, bootstrap, signal, () => authority(bootstrap, signal));
  const config = clusterConfig({ server: bootstrap.server, token: bootstrap.token, ...(ca !== undefined && { ca }) });
  logger.info("asking for a node's certificate by bootstrap token", { server: config.server, node: nodeName });
  await using client = new KubeClient(config);
  // The first question tells whether the token is good, in plainer words than the request for a certificate would.
  await patiently(options, bootstrap, signal, () => client.raw("GET", "/apis/certificates.k8s.io/v1", { signal }));
  const obtain = { client, pki, nodeName, clock, random, logger, expirationSeconds };
  const pair = await patiently(options, bootstrap, signal, () => obtainPair(obtain, signal));
  await pki.write(KUBECONFIG, kubeconfigText(nodeName, config.server, ca, join(pki.path, `${CLIENT}.pem`)));
  logger.info("the node has its certificate", { expires: new Date(validityOf(pair).to).toISOString() });
  return { server: config.server, ca, pair };
}

async function authority({ server, ca, caHashes }: BootstrapOptions, signal: AbortSignal): Promise<string | undefined> {
  return caHashes === undefined || ca !== undefined ? ca : discoverAuthority(server, caHashes, signal);
}

const RETRY_MS = 3_000;
/** An API server that has just started refuses what it will allow a moment later. */
const REFUSALS = 3;
const REFUSAL_RETRY_MS = 500;

/** Tries until the server answers: a device may be up before its cluster. What the server goes on refusing is final. */
async function patiently<T>(
  { clock, logger }: JoinOptions,
  bootstrap: BootstrapOptions,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  let refusals = 0;
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if ((isUnauthorized(error) || isForbidden(error)) && ++refusals < REFUSALS) {
        await sleep(clock, REFUSAL_RETRY_MS, signal);
        continue;
      }
      const { server } = bootstrap;
      const token = `${bootstrap.token.split(".")[0]?.slice(0, 6)}.…`;
      if (isUnauthorized(error)) throw new BootstrapTokenRefused({ server, token }, { cause: error });
      if (isForbidden(error))
        throw new BootstrapNotAllowed({ server, token, reason: describeError(error) }, { cause: error });
      const distrust = tlsProblem(error);
      if (distrust !== undefined) throw new ServerNotTrusted({ server, reason: distrust }, { cause: error });
      const passing = error instanceof ApiError ? error.statusCode >= 500 : codeOf(error) === "KUBE_CONNECTION";
      if (!passing) throw error;
      if (failures === 0) logger.warn("the API server does not answer yet", { server, error: describeError(error) });
      await sleep(clock, RETRY_MS, signal);
    }
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}

/** What is wrong with the server's certificate, if that is the matter. */
function tlsProblem(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (/^(ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/.test(codeOf(cause))) return cause.message;
  }
  return undefined;
}
