import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { type Clock, describeError, type X509Name, x509Ids } from "@fjord/base";
import { clusterConfig, kubeconfigOf } from "@fjord/kube";
import { Authority, type CertificatePair, generateKey, publicKeyOf } from "./authority.ts";
import { type CredentialFiles, credentialFolder, credentialMemory } from "./credential-files.ts";
import { CredentialsUnreadable } from "./errors.ts";

export interface ClusterCredentialsOptions {
  /** Where they are kept from one start to the next. @default in memory only */
  readonly folder?: string;
  readonly clock: Clock;
  /** DNS names and addresses that the server is reached by, beyond those that every cluster has. */
  readonly serverNames?: readonly string[];
}

const DAY_MS = 24 * 3_600_000;
const YEAR_MS = 365 * DAY_MS;
/** Clocks of clients may be behind. */
const BACKDATE_MS = DAY_MS;
const LIFETIME_MS = 10 * YEAR_MS;

const standardNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "127.0.0.1",
  "::1",
];

/**
 * Everything that a cluster proves itself and others by. The file names are kubeadm's, so that who knows one cluster
 * finds them in the other.
 */
export class ClusterCredentials {
  /** Signs clients' and kubelets' certificates, and the server's own. */
  readonly clusterCa: Authority;
  /** Signs who may speak for others with `X-Remote-User` (aggregation). */
  readonly frontProxyCa: Authority;
  /** The server's certificate and key. */
  readonly server: CertificatePair;
  /** The cluster's administrator: group system:masters. */
  readonly admin: CertificatePair;
  /** As which the server speaks to kubelets. */
  readonly kubeletClient: CertificatePair;
  /** As which the server speaks to aggregated API servers. */
  readonly frontProxyClient: CertificatePair;
  /** Signs service accounts' tokens: P-256 in PEM. */
  readonly serviceAccountKey: string;
  readonly #clock: Clock;

  private constructor(made: Omit<ClusterCredentials, "issueClient" | "kubeconfig">, clock: Clock) {
    this.clusterCa = made.clusterCa;
    this.frontProxyCa = made.frontProxyCa;
    this.server = made.server;
    this.admin = made.admin;
    this.kubeletClient = made.kubeletClient;
    this.frontProxyClient = made.frontProxyClient;
    this.serviceAccountKey = made.serviceAccountKey;
    this.#clock = clock;
  }

  /** Reads what there is and makes what is missing, expires soon, or does not name the server as it is reached now. */
  static async open(options: ClusterCredentialsOptions): Promise<ClusterCredentials> {
    const { folder, clock, serverNames = [] } = options;
    const files = folder === undefined ? credentialMemory() : await credentialFolder(folder);
    const now = clock.now();
    const clusterCa = await openAuthority(files, "ca", "kubernetes", now);
    const frontProxyCa = await openAuthority(files, "front-proxy-ca", "front-proxy-ca", now);
    const client = { uses: [x509Ids.clientAuth], names: [] };
    const pair = (name: string, authority: Authority, subject: X509Name, of: Pick<Leaf, "uses" | "names"> = client) =>
      openPair(files, { name, authority, subject, ...of }, now);
    const masters = ["system:masters"];
    const kubeletClient = { commonName: "kube-apiserver-kubelet-client", organizations: masters };
    const names = [...new Set([...standardNames, ...serverNames])];
    const made = {
      clusterCa,
      frontProxyCa,
      server: await pair(
        "apiserver",
        clusterCa,
        { commonName: "kube-apiserver" },
        { uses: [x509Ids.serverAuth], names },
      ),
      admin: await pair("admin", clusterCa, { commonName: "kubernetes-admin", organizations: masters }),
      kubeletClient: await pair("apiserver-kubelet-client", clusterCa, kubeletClient),
      frontProxyClient: await pair("front-proxy-client", frontProxyCa, { commonName: "front-proxy-client" }),
      serviceAccountKey: await openKey(files, "sa.key"),
    };
    return new ClusterCredentials(made, clock);
  }

  /** A certificate for somebody else: a controller, a scheduler, a user. Kept nowhere. */
  async issueClient(subject: X509Name, lifetimeMs = YEAR_MS): Promise<CertificatePair> {
    const now = this.#clock.now();
    const leaf = { authority: this.clusterCa, subject, uses: [x509Ids.clientAuth], names: [] };
    return makePair(leaf, { from: now - BACKDATE_MS, to: now + lifetimeMs });
  }

  /** For kubectl: `server` is the address as the reader reaches it. @default as the administrator */
  async kubeconfig(server: string, as: CertificatePair = this.admin, name = "microkube"): Promise<string> {
    return kubeconfigOf(clusterConfig({ server, ca: this.clusterCa.certificate, ...as }), name);
  }
}

interface Leaf {
  readonly name: string;
  readonly authority: Authority;
  readonly subject: X509Name;
  readonly uses: readonly string[];
  readonly names: readonly string[];
}

async function openAuthority(
  files: CredentialFiles,
  name: string,
  commonName: string,
  now: number,
): Promise<Authority> {
  const pair = await readPair(files, name);
  try {
    if (pair !== undefined) return new Authority(pair);
    if ((await files.read(`${name}.crt`)) !== undefined) throw new Error("its key is gone");
  } catch (error) {
    throw new CredentialsUnreadable({ name: `${name}.crt`, folder: files.place, problem: describeError(error) });
  }
  return new Authority(
    await writePair(files, name, await Authority.make(commonName, { from: now - BACKDATE_MS, to: now + LIFETIME_MS })),
  );
}

async function openPair(files: CredentialFiles, leaf: Leaf, now: number): Promise<CertificatePair> {
  const pair = await readPair(files, leaf.name);
  if (pair !== undefined && isGood(pair, leaf, now)) return pair;
  const validity = { from: now - BACKDATE_MS, to: now + LIFETIME_MS };
  return writePair(files, leaf.name, await makePair(leaf, validity));
}

async function openKey(files: CredentialFiles, name: string): Promise<string> {
  const found = await files.read(name);
  if (found === undefined) {
    const key = await generateKey();
    await files.write(name, key);
    return key;
  }
  try {
    createPrivateKey(found);
    return found;
  } catch (error) {
    throw new CredentialsUnreadable({ name, folder: files.place, problem: describeError(error) });
  }
}

async function makePair(leaf: Omit<Leaf, "name">, validity: { from: number; to: number }): Promise<CertificatePair> {
  const { authority, subject, names, uses } = leaf;
  const key = await generateKey();
  const cert = authority.issue({ subject, publicKey: publicKeyOf(key), names, extendedKeyUsages: uses, validity });
  return { cert, key };
}

/** What is no pair, or not of this authority, is not good either: it is made anew. */
function isGood({ cert, key }: CertificatePair, { authority, names }: Leaf, now: number): boolean {
  try {
    const x509 = new X509Certificate(cert);
    const covers = (name: string) =>
      (isIP(name) === 0 ? x509.checkHost(name, { subject: "never" }) : x509.checkIP(name)) !== undefined;
    // The last year is time enough to start again once.
    const lasts = x509.validToDate.getTime() > Math.min(now + YEAR_MS, authority.x509.validToDate.getTime() - 1);
    return lasts && authority.hasSigned(x509) && x509.checkPrivateKey(createPrivateKey(key)) && names.every(covers);
  } catch {
    return false;
  }
}

async function readPair(files: CredentialFiles, name: string): Promise<CertificatePair | undefined> {
  const [cert, key] = await Promise.all([files.read(`${name}.crt`), files.read(`${name}.key`)]);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** The key first: a certificate without its key would look like a loss, a key alone is an attempt that was cut off. */
async function writePair(files: CredentialFiles, name: string, pair: CertificatePair): Promise<CertificatePair> {
  await files.write(`${name}.key`, pair.key);
  await files.write(`${name}.crt`, pair.cert);
  return pair;
}
