import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { isIPv6 } from "node:net";
import { failure, type ProbeResult, success } from "./probe-result.ts";

/** `grpc.health.v1.HealthCheckResponse.ServingStatus` */
const statuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
const SERVING = 1;
const UNIMPLEMENTED = 12;

/** One call of gRPC's health protocol, without encryption. */
export async function probeGrpc(
  host: string,
  port: number,
  service: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const { connect } = await import("node:http2");
  const session = connect(`http://${address}`);
  const abort = () => session.destroy(new Error("aborted"));
  signal.addEventListener("abort", abort, { once: true });
  try {
    await connected(session);
    return verdict(await check(session, service));
  } catch (error) {
    if (signal.aborted) return failure(`timeout: failed to connect service "${address}" in time`);
    return failure(`error: failed to connect service at "${address}": ${(error as Error).message}`);
  } finally {
    signal.removeEventListener("abort", abort);
    session.destroy();
  }
}

interface GrpcAnswer {
  readonly status: number;
  readonly message: string;
  readonly body: Buffer;
}

function verdict({ status, message, body }: GrpcAnswer): ProbeResult {
  if (status === UNIMPLEMENTED) {
    const what = "this server does not implement the grpc health protocol (grpc.health.v1.Health)";
    return failure(`error: ${what}: ${message}`);
  }
  if (status !== 0) return failure(`error: health rpc probe failed: code = ${status} desc = ${message}`);
  const serving = servingStatus(body);
  return serving === SERVING
    ? success
    : failure(`service unhealthy (responded with "${statuses[serving] ?? serving}")`);
}

function connected(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.once("connect", () => resolve());
    session.once("error", reject);
  });
}

async function check(session: ClientHttp2Session, service: string): Promise<GrpcAnswer> {
  const stream: ClientHttp2Stream = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    "user-agent": "kube-probe/1.36",
    te: "trailers",
  });
  const headers: Record<string, unknown> = {};
  stream.on("response", (received) => Object.assign(headers, received));
  stream.on("trailers", (received) => Object.assign(headers, received));
  stream.end(requestFrame(service));
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  const status = headers["grpc-status"] === undefined ? UNIMPLEMENTED : Number(headers["grpc-status"]);
  return { status, message: decodeURIComponent(String(headers["grpc-message"] ?? "")), body: Buffer.concat(chunks) };
}

/** `HealthCheckRequest { service: 1 }` in gRPC's frame: not compressed, four bytes of length. */
function requestFrame(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Field 1 of the answer, which small messages leave out where it is zero. */
function servingStatus(frame: Buffer): number {
  const message = frame.subarray(5);
  return message[0] === 0x08 ? (message[1] ?? 0) : 0;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return Buffer.from([...bytes, left]);
    bytes.push((left & 0x7f) | 0x80);
  }
}
