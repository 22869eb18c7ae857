import type { IncomingMessage, ServerResponse } from "node:http";
import { describeError, FjordError, type Logger } from "@fjord/base";
import { captureRequest } from "./capture-request.ts";
import type { Captures } from "./captures.ts";
import { CaptureDenied, InvalidCaptureRequest, LinkNotHere, TooManyCaptures } from "./errors.ts";

export const CAPTURE_PATH = "/capture";
/** Says behind the packets how it has ended: a `CaptureSummary` in JSON. */
export const CAPTURE_TRAILER = "fjord-capture";

export interface CaptureRouteOptions {
  readonly captures: Captures;
  /** Who asks, by what they show; throws `CaptureDenied` where that is nobody who may see packets of the link with a site. */
  readonly whoMay: (code: string, siteId: string) => Promise<string>;
  readonly nameOf: (siteId: string) => string | undefined;
  readonly logger: Logger;
}

const LARGEST_REQUEST = 256 * 1024;

/** Serves captures to who may have them, from this machine alone: nothing of it crosses a network in clear. */
export function captureRoute(options: CaptureRouteOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      await answer(request, response, options);
    } catch (error) {
      if (response.headersSent) return void response.destroy();
      const code = error instanceof FjordError ? error.code : "CAPTURE_IMPOSSIBLE";
      response.writeHead(statusOf(error), { "content-type": "application/json", connection: "close" });
      response.end(JSON.stringify({ code, error: describeError(error) }));
    }
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { captures, whoMay, nameOf, logger }: CaptureRouteOptions,
): Promise<void> {
  if (request.method !== "POST") throw new InvalidCaptureRequest({ reason: "it has to be POSTed" });
  if (!isLoopback(request.socket.remoteAddress))
    throw new InvalidCaptureRequest({ reason: "it is taken from this machine alone" });
  const wish = captureRequest(await json(request));
  const by = await whoMay(codeOf(request), wish.site);
  const left = new AbortController();
  response.once("close", () => left.abort());
  const capture = await captures.open(wish, left.signal);
  const { site, ...rest } = wish;
  const about = { by, site: nameOf(site) ?? site, siteId: site };
  logger.info("packets of a link are captured", { ...about, ...rest, hosts: rest.hosts?.map((list) => list.length) });
  try {
    response.writeHead(200, {
      "content-type": "application/vnd.tcpdump.pcap",
      "cache-control": "no-store",
      trailer: CAPTURE_TRAILER,
    });
    for await (const bytes of capture.read()) {
      if (left.signal.aborted) break;
      if (!response.write(bytes)) await drained(response);
    }
  } finally {
    await capture.close();
    logger.info("a capture has ended", { ...about, ...capture.summary });
  }
  if (left.signal.aborted) return;
  response.addTrailers({ [CAPTURE_TRAILER]: JSON.stringify(capture.summary) });
  response.end();
}

/** Nobody waits for one who has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
    if (response.destroyed) done();
  });
}

function codeOf({ headers }: IncomingMessage): string {
  return /^Bearer ([\w-]{16,256})$/.exec(headers.authorization ?? "")?.[1] ?? "";
}

async function json(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += (chunk as Buffer).length;
    if (length > LARGEST_REQUEST) throw new InvalidCaptureRequest({ reason: "it is too long" });
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (cause) {
    throw new InvalidCaptureRequest({ reason: "it is no JSON" }, { cause });
  }
}

function isLoopback(address = ""): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}

function statusOf(error: unknown): number {
  if (error instanceof InvalidCaptureRequest) return 400;
  if (error instanceof CaptureDenied) return 403;
  if (error instanceof LinkNotHere) return 404;
  return error instanceof TooManyCaptures ? 429 : 503;
}
