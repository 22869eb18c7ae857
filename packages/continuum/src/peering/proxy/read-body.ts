import type { IncomingMessage } from "node:http";
import { chunksOf } from "../server/answers.ts";
import { KubeRefusal } from "./kube-refusal.ts";
import type { TenantTraffic } from "./tenant-traffic.ts";

/** The whole body. Its bytes are held against the tenant's room; the caller releases them. */
export async function readBody(request: IncomingMessage, limit: number, traffic: TenantTraffic): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
  if (request.headers["content-encoding"] !== undefined) throw new KubeRefusal(415, "a body may not be encoded");
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of chunksOf(request)) {
      if (size + chunk.length > limit) throw tooLarge(limit);
      traffic.hold(chunk.length);
      size += chunk.length;
      chunks.push(chunk);
    }
  } catch (error) {
    traffic.release(size);
    throw error;
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(limit: number): KubeRefusal {
  return new KubeRefusal(413, `the body is larger than ${limit} bytes`);
}
