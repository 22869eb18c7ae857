import { isIP } from "node:net";
import {
  CAPTURE_LIMITS,
  CAPTURE_PROTOCOLS,
  type CaptureProtocol,
  type CaptureRequest,
} from "@fjord/continuum/network-capture";
import { inUnits, type Pod, parseQuantity } from "@fjord/kube";
import { parseDuration } from "../../command-line/durations.ts";
import { InvalidValue, NoSuchThing } from "../../errors.ts";

export interface FilterFlags {
  readonly host: readonly string[];
  readonly port: readonly string[];
  readonly protocol?: CaptureProtocol;
  readonly duration: string;
  readonly packets?: string;
  readonly bytes: string;
  readonly snaplen?: string;
}

/** What is asked for by options alone. */
export function captureLimits(flags: FilterFlags): Omit<CaptureRequest, "site"> {
  const { protocol } = flags;
  const host = flags.host.map(hostOf);
  const ports = flags.port.map((value) => whole("--port", value, 65_535));
  const packets = flags.packets === undefined ? undefined : whole("--packets", flags.packets, CAPTURE_LIMITS.packets);
  const snaplen = flags.snaplen === undefined ? undefined : whole("--snaplen", flags.snaplen, CAPTURE_LIMITS.snaplen);
  const durationMs = parseDuration("--duration", flags.duration);
  if (durationMs < 1 || durationMs > CAPTURE_LIMITS.durationMs)
    throw new InvalidValue({ option: "--duration", value: flags.duration, reason: "it must be at most 1h" });
  return {
    hosts: host.length === 0 ? [] : [host],
    ports,
    ...(protocol !== undefined && { protocol }),
    ...(snaplen !== undefined && { snaplen }),
    durationMs,
    ...(packets !== undefined && { packets }),
    bytes: bytesOf(flags.bytes),
  };
}

/** An address, or a range of them. */
function hostOf(value: string): string {
  const [address = "", length, ...more] = value.split("/");
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const isRange = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= longest);
  if (longest < 0 || !isRange || more.length > 0)
    throw new InvalidValue({
      option: "--host",
      value,
      reason: "it must be an address, or a range such as 10.42.0.0/16",
    });
  return value;
}

function bytesOf(value: string): number {
  const refuse = () =>
    new InvalidValue({ option: "--bytes", value, reason: "it must be an amount up to 1Gi, such as 64Mi" });
  let bytes: number;
  try {
    bytes = Math.floor(inUnits(parseQuantity(value)));
  } catch {
    throw refuse();
  }
  if (bytes < 1 || bytes > CAPTURE_LIMITS.bytes) throw refuse();
  return bytes;
}

function whole(option: string, value: string, most: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < 1 || number > most)
    throw new InvalidValue({ option, value, reason: `it must be a whole number from 1 to ${most}` });
  return number;
}

export { CAPTURE_PROTOCOLS };

/** Addresses of pods, as they are called here: those that have one of their own. */
export function podHosts(pods: readonly Pod[], where: string): string[] {
  const living = pods.filter(
    ({ spec, status }) => spec?.hostNetwork !== true && status?.phase !== "Succeeded" && status?.phase !== "Failed",
  );
  const hosts = living.flatMap(({ status }) =>
    (status?.podIPs ?? [{ ip: status?.podIP }]).flatMap(({ ip }) => ip || []),
  );
  if (hosts.length === 0)
    throw new NoSuchThing({ what: "address of", name: where, hint: ": it has none, or only that of its node" });
  return [...new Set(hosts)];
}
