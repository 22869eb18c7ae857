import type { IncomingMessage } from "node:http";
import type { HttpTarget } from "./http-target.ts";
import { failure, LONGEST_OUTPUT, type ProbeResult, success } from "./probe-result.ts";

const MOST_REDIRECTS = 10;

/** Asks by GET: anything from 200 to 399 is a success. Certificates are not verified. */
export async function probeHttp(target: HttpTarget, signal: AbortSignal): Promise<ProbeResult> {
  let { url } = target;
  try {
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const { status, location, body } = await get({ ...target, url }, signal);
      if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
      if (status < 300 || location === undefined) return success;
      const next = new URL(location, url);
      if (next.hostname !== target.url.hostname) {
        return { outcome: "success", message: `Probe terminated redirects, Response body: ${body}` };
      }
      url = next;
    }
    return failure(`Get "${target.url.href}": stopped after ${MOST_REDIRECTS} redirects`);
  } catch (error) {
    const late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    return failure(`Get "${url.href}": ${signal.aborted ? late : (error as Error).message}`);
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly location?: string;
  readonly body: string;
}

/** One GET on a connection of its own. */
export async function get({ url, headers }: HttpTarget, signal: AbortSignal): Promise<HttpAnswer> {
  const { request } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { headers, signal, agent: false as const, rejectUnauthorized: false, insecureHTTPParser: true };
    request(url, options, resolve).on("error", reject).end();
  });
  const body = await start(answer);
  const { location } = answer.headers;
  return { status: answer.statusCode ?? 0, body, ...(location !== undefined && { location }) };
}

/** As much of the body as anybody reads; the rest is not waited for. */
async function start(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= LONGEST_OUTPUT) break;
  }
  return Buffer.concat(chunks).subarray(0, LONGEST_OUTPUT).toString("utf8");
}
