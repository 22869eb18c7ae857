import { parseRange } from "../ip-range.ts";
import { InvalidCaptureRequest } from "./errors.ts";

/** Which packets of a link somebody wants to see, and for how long. */
export interface CaptureRequest {
  /** Id of the peer. */
  readonly site: string;
  /** Addresses and ranges as they are called here: of each list either end has to be one. @default any */
  readonly hosts?: readonly (readonly string[])[];
  /** Either end has to have one. @default any */
  readonly ports?: readonly number[];
  /** @default any */
  readonly protocol?: CaptureProtocol;
  /** Of each packet so many bytes. @default all */
  readonly snaplen?: number;
  readonly durationMs: number;
  /** @default as many as there are */
  readonly packets?: number;
  /** Of what is sent to who asks. */
  readonly bytes: number;
}

export const CAPTURE_PROTOCOLS = ["tcp", "udp", "icmp"] as const;
export type CaptureProtocol = (typeof CAPTURE_PROTOCOLS)[number];

/** No gateway does more, whatever it is asked for. */
export const CAPTURE_LIMITS = {
  durationMs: 3_600_000,
  bytes: 1024 ** 3,
  packets: 100_000_000,
  snaplen: 65_535,
  hosts: 2_048,
  ports: 64,
} as const;

/** What somebody has sent, where it is such a request. */
export function captureRequest(value: unknown): CaptureRequest {
  const refuse = (reason: string) => new InvalidCaptureRequest({ reason });
  if (typeof value !== "object" || value === null) throw refuse("it is no object");
  const { site, hosts = [], ports = [], protocol, snaplen, durationMs, packets, bytes } = value as CaptureRequest;
  if (typeof site !== "string" || !/^[a-z0-9]{1,63}$/.test(site)) throw refuse("it names no site");
  const lists = Array.isArray(hosts) ? hosts : [];
  if (lists !== hosts || !lists.every((list) => Array.isArray(list) && list.length > 0))
    throw refuse("hosts are no lists of addresses");
  for (const host of lists.flat())
    if (typeof host !== "string" || (parseRange(host)?.length ?? 0) === 0)
      throw refuse(`${JSON.stringify(host)} is no address, and no range of addresses`);
  if (lists.flat().length > CAPTURE_LIMITS.hosts) throw refuse(`it names more than ${CAPTURE_LIMITS.hosts} addresses`);
  if (!Array.isArray(ports) || ports.length > CAPTURE_LIMITS.ports)
    throw refuse(`ports are a list of at most ${CAPTURE_LIMITS.ports}`);
  for (const port of ports) if (!isWithin(port, 65_535)) throw refuse(`${JSON.stringify(port)} is no port`);
  if (protocol !== undefined && !CAPTURE_PROTOCOLS.includes(protocol)) throw refuse(`${protocol} is no protocol of it`);
  const numbers = { snaplen, durationMs, packets, bytes };
  for (const [name, number] of Object.entries(numbers)) {
    const isLeftOut = number === undefined && (name === "snaplen" || name === "packets");
    const most = CAPTURE_LIMITS[name as keyof typeof numbers];
    if (!isLeftOut && !isWithin(number, most)) throw refuse(`${name} is a whole number from 1 to ${most}`);
  }
  return {
    site,
    hosts: lists,
    ports: [...new Set(ports)],
    ...(protocol !== undefined && { protocol }),
    ...(snaplen !== undefined && { snaplen }),
    durationMs,
    ...(packets !== undefined && { packets }),
    bytes,
  };
}

function isWithin(value: unknown, most: number): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most;
}
