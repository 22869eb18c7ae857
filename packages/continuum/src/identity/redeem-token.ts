import type { TLSSocket } from "node:tls";
import { Site } from "@fjord/api";
import { describeError } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import { LARGEST_BODY, type PairAnswer, type PairRequest, PROTOCOL } from "../protocol.ts";
import { checkEndpoints } from "./endpoint.ts";
import { PairingFailed, TokenOfOwnSite, TokenWithoutEndpoints } from "./errors.ts";
import { type PairingToken, parseToken } from "./pairing-token.ts";
import { checkChosenName, ensurePeerSite } from "./peer-site.ts";
import type { PeerTls } from "./peer-tls.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { request } = process.getBuiltinModule("node:http");

export interface RedeemOptions {
  readonly tls: PeerTls;
  /** Of the redeeming site. */
  readonly client: Pick<KubeClient, "list" | "get" | "create" | "update">;
  /** Name of the own Site object: told to the issuer, and never given to it. */
  readonly siteName: string;
  /** Where the issuer reaches this site; empty where this one dials out. */
  readonly endpoints: readonly string[];
  /** Lets the issuer consume from this site too. @default false */
  readonly bothWays?: boolean;
  /** Name of the issuer's Site object here: this and no other. @default one like what it calls itself */
  readonly name?: string;
  readonly signal?: AbortSignal;
  /** For each endpoint. @default 10 s */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;

/**
 * Redeems a token at the site that issued it, and makes the Site object for that one. May be repeated. Throws
 * `PeerRefused` where the issuer refuses, and `PairingFailed` where none of its endpoints leads to it.
 */
export async function redeemToken(text: string, options: RedeemOptions): Promise<Site> {
  const { tls, client, siteName, bothWays = false, signal } = options;
  const token = parseToken(text);
  if (token.site === tls.identity.id) throw new TokenOfOwnSite({});
  if (token.endpoints.length === 0) throw new TokenWithoutEndpoints({ site: token.site });
  const chosen = { id: token.site, chosenName: options.name };
  // Before the token is used: afterwards it would be too late.
  if (options.name !== undefined) checkChosenName((await client.list(Site, { signal })).items, chosen, siteName);
  const { name, endpoints: answered } = await askOneOf(token, options);
  const endpoints = answered.length === 0 ? token.endpoints : answered;
  return ensurePeerSite(client, { ...chosen, name, endpoints, mayConsume: bothWays }, siteName, signal);
}

async function askOneOf(token: PairingToken, options: RedeemOptions): Promise<PairAnswer> {
  const { signal } = options;
  const failures: string[] = [];
  for (const endpoint of token.endpoints) {
    try {
      return await ask(endpoint, token, options);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof PeerRefused) throw error;
      // What the site wrote may be quoted in it.
      failures.push(printable(describeError(error), 512));
    }
  }
  throw new PairingFailed({ site: token.site, reason: failures.join("; ") });
}

async function ask(endpoint: string, token: PairingToken, options: RedeemOptions): Promise<PairAnswer> {
  const { tls, siteName, endpoints, timeoutMs = TIMEOUT_MS } = options;
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]);
  const socket = await tls.connect(endpoint, token.site, { signal, timeoutMs });
  try {
    const body: PairRequest = { secret: token.secret, issuer: token.site, name: siteName, endpoints };
    const path = `${new URL(endpoint).pathname.replace(/\/+$/, "")}${PROTOCOL}/pair`;
    const { status, text } = await post(socket, path, JSON.stringify(body), signal);
    return read(status, text);
  } finally {
    socket.destroy();
  }
}

function post(socket: TLSSocket, path: string, body: string, signal: AbortSignal) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      host: "fjord",
      connection: "close",
    };
    const sent = request({ createConnection: () => socket, method: "POST", path, headers, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("error", reject);
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > LARGEST_BODY) sent.destroy(new Error("the answer is too long"));
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject).end(body);
  });
}

/** From a site that is the right one, and hostile all the same. */
function read(status: number, text: string): PairAnswer {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error("the answer is no object");
  const { name, endpoints, code, message } = value as Record<string, unknown>;
  if (status === 200) {
    return { endpoints: checkEndpoints(endpoints ?? []), ...(typeof name === "string" && { name }) };
  }
  if (status < 500 && typeof code === "string" && typeof message === "string") {
    throw new PeerRefused({ code: printable(code, 64), message: printable(message, 512) }, status);
  }
  throw new Error(`the answer has the status ${status}`);
}

/** Nothing that would move the cursor of a terminal. */
function printable(text: string, longest: number): string {
  return text.slice(0, longest).replace(/[^\x20-\x7e]/g, "?");
}
