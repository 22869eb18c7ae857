import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { describeError, FjordError } from "@fjord/base";
import {
  CAPTURE_PATH,
  CAPTURE_TRAILER,
  type CapturedPacket,
  type CaptureRequest,
  type CaptureSummary,
  PcapReader,
} from "@fjord/continuum/network-capture";
import { CaptureRefused } from "../../errors.ts";

export interface ReadCaptureOptions {
  /** Who is asked, in words. */
  readonly title: string;
  /** A connection to it. @default one to the address of `url` */
  readonly connect?: () => Promise<Duplex>;
  readonly url: string;
  /** Shows who asks. */
  readonly code: string;
  readonly request: CaptureRequest;
  readonly signal: AbortSignal;
  /** It has begun. */
  readonly begun: () => void;
  readonly packet: (packet: CapturedPacket) => Promise<void>;
}

/** Asks one gateway for packets until it, or whoever aborts, has had enough; resolves with how it has ended, undefined where the connection has. */
export async function readCapture(options: ReadCaptureOptions): Promise<CaptureSummary | undefined> {
  const { title, begun, packet } = options;
  const response = await ask(options);
  if (response.statusCode !== 200) throw refusal(title, response.statusCode ?? 0, await text(response));
  begun();
  const reader = new PcapReader();
  let failure: unknown;
  const take = async (each: CapturedPacket) => {
    await packet(each).catch((error: unknown) => {
      failure = error;
      throw error;
    });
  };
  try {
    for await (const chunk of response) for (const each of reader.read(chunk as Buffer)) await take(each);
  } catch (error) {
    if (failure !== undefined || error instanceof FjordError) throw error;
    // The connection has ended: with the gateway, or because there is enough.
    return undefined;
  }
  const said = response.trailers[CAPTURE_TRAILER];
  return said === undefined ? undefined : (JSON.parse(String(said)) as CaptureSummary);
}

async function ask({ title, connect, url, code, request, signal }: ReadCaptureOptions): Promise<IncomingMessage> {
  const connection = await connect?.();
  const body = JSON.stringify(request);
  return await new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(CAPTURE_PATH, url), {
      method: "POST",
      signal,
      headers: {
        authorization: `Bearer ${code}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        connection: "close",
      },
      ...(connection && { createConnection: () => connection as never }),
    });
    sent.on("response", resolve);
    sent.on("error", (cause) =>
      reject(signal.aborted ? cause : new CaptureRefused({ gateway: title, reason: describeError(cause) }, { cause })),
    );
    sent.end(body);
  });
}

async function text(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** In the gateway's own words. */
function refusal(title: string, status: number, body: string): Error {
  try {
    const { code, error } = JSON.parse(body) as { readonly code?: string; readonly error?: string };
    if (typeof code === "string" && typeof error === "string")
      return Object.assign(new CaptureRefused({ gateway: title, reason: error }), { refusal: code });
  } catch {
    // It is something else that answers.
  }
  const reason =
    status === 404 || status === 405 ? "it is of a version that captures nothing" : body.trim().slice(0, 200);
  return new CaptureRefused({ gateway: title, reason: `it answers ${status}: ${reason}` });
}
