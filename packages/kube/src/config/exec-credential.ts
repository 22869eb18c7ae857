import type { Credential } from "./cluster-config.ts";
import { isHeaderSafe } from "./impersonation.ts";
import { certificateExpiry, certificateProblem, keyProblem, pairProblem } from "./pem.ts";
import { isMapping } from "./section.ts";

export const execApiVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
export type ExecApiVersion = (typeof execApiVersions)[number];

/** What a plugin is told about the cluster, in the words of its protocol. */
export interface ExecCluster {
  server: string;
  "tls-server-name"?: string;
  "insecure-skip-tls-verify"?: boolean;
  "certificate-authority-data"?: string;
  "proxy-url"?: string;
  config?: unknown;
}

/** The value of KUBERNETES_EXEC_INFO. */
export function execInfo(apiVersion: ExecApiVersion, interactive: boolean, cluster?: ExecCluster): string {
  const spec = { ...(cluster === undefined ? {} : { cluster }), interactive };
  return JSON.stringify({ apiVersion, kind: "ExecCredential", spec });
}

export interface ParsedExecCredential {
  readonly credential: Credential;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Reads what a plugin printed; a string says what is wrong with it, and repeats nothing of it. */
export function parseExecCredential(
  stdout: string,
  apiVersion: ExecApiVersion,
  now: number,
): ParsedExecCredential | string {
  if (stdout.trim() === "") return "it printed nothing";
  const object = parseJson(stdout);
  if (!isMapping(object)) return "not a JSON object";
  if (object.kind !== "ExecCredential") return `kind is ${named(object.kind)}, expected ExecCredential`;
  if (object.apiVersion !== apiVersion) return `apiVersion is ${named(object.apiVersion)}, expected ${apiVersion}`;
  if (!isMapping(object.status)) return "status is missing";
  return parseStatus(object.status, now);
}

function parseStatus(status: Record<string, unknown>, now: number): ParsedExecCredential | string {
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  for (const [name, value] of Object.entries({
    token,
    clientCertificateData: cert,
    clientKeyData: key,
    expirationTimestamp,
  })) {
    if (value !== undefined && value !== null && typeof value !== "string") return `status.${name} is not a string`;
  }
  if (!token && !cert && !key) return "status holds neither a token nor a client certificate";
  if (token && !isHeaderSafe(String(token))) return "status.token holds a line break or another control character";
  const pair = cert || key ? pairOf(cert, key, now) : undefined;
  if (typeof pair === "string") return pair;
  const expiresAt = expiryOf(expirationTimestamp, pair?.cert);
  if (typeof expiresAt === "string") return expiresAt;
  if (expiresAt <= now)
    return `status.expirationTimestamp: the credentials expired at ${new Date(expiresAt).toISOString()}`;
  return { credential: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...pair }, expiresAt };
}

function pairOf(cert: unknown, key: unknown, now: number): { cert: string; key: string } | string {
  if (typeof cert !== "string" || cert === "") return "status.clientKeyData without clientCertificateData";
  if (typeof key !== "string" || key === "") return "status.clientCertificateData without clientKeyData";
  const certificate = certificateProblem(cert);
  if (certificate !== undefined) return `status.clientCertificateData: ${certificate}`;
  const privateKey = keyProblem(key);
  if (privateKey !== undefined) return `status.clientKeyData: ${privateKey}`;
  const together = pairProblem(cert, key, now);
  return together === undefined ? { cert, key } : `status.clientCertificateData: ${together}`;
}

function expiryOf(timestamp: unknown, cert: string | undefined): number | string {
  if (typeof timestamp === "string" && timestamp !== "") {
    const time = Date.parse(timestamp);
    return Number.isNaN(time) ? "status.expirationTimestamp is not an RFC 3339 time" : time;
  }
  return (cert && certificateExpiry(cert)) || Number.POSITIVE_INFINITY;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function named(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "missing";
}
