import { isIP } from "node:net";
import { InvalidAgentOption } from "./errors.ts";

export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** Reads `HOST:PORT`, `[ADDRESS]:PORT` or `:PORT`. */
export function listenOption(option: string, value: string): Listen {
  const match = /^(?:\[([0-9a-f:]+)\]|([^:]*)):(\d+)$/i.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new InvalidAgentOption({ option, value, reason: "it must be HOST:PORT, such as 0.0.0.0:7443" });
  return { host: match[1] ?? match[2] ?? "", port };
}

export function portOption(option: string, value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535)
    throw new InvalidAgentOption({ option, value, reason: "it must be a port" });
  return port;
}

export function addressOption(option: string, value: string): string {
  if (isIP(value) === 0) throw new InvalidAgentOption({ option, value, reason: "it must be an IP address" });
  return value;
}

export function nameOption(option: string, value: string): string {
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value))
    throw new InvalidAgentOption({
      option,
      value,
      reason: "it must be a name of at most 63 characters a-z, 0-9 and '-', such as lively-wave",
    });
  return value;
}

/** Reads how long a lease lasts, such as `15s`: too short for two tries to renew it, nobody would keep it. */
export function leaseOption(option: string, value: string): number {
  const seconds = Number(/^(\d{1,4})s$/.exec(value)?.[1]);
  if (!(seconds >= 3))
    throw new InvalidAgentOption({ option, value, reason: "it must be a time of three seconds or more, such as 15s" });
  return seconds * 1000;
}

/** Reads `NAME` or `NAME:PORT` of a Service. */
export function serviceOption(option: string, value: string): { name: string; port: number } {
  const [name = "", port = "443", ...more] = value.split(":");
  if (more.length > 0) throw new InvalidAgentOption({ option, value, reason: "it must be NAME or NAME:PORT" });
  return { name: nameOption(option, name), port: portOption(option, port) };
}

/** Reads `HOST:PORT` or `[ADDRESS]:PORT` of an API. */
export function homeApiOption(option: string, value: string): { host: string; port: string } {
  const { host, port } = listenOption(option, value);
  if (host === "" || port === 0)
    throw new InvalidAgentOption({ option, value, reason: "it must be HOST:PORT, such as api.wave.example:6443" });
  return { host, port: String(port) };
}

/** Reads `KEY=VALUE` as Kubernetes takes labels. */
export function labelOption(option: string, value: string): [string, string] {
  const match =
    /^((?:[a-z0-9.-]{1,253}\/)?[a-z0-9](?:[\w.-]{0,61}[a-z0-9])?)=([a-z0-9](?:[\w.-]{0,61}[a-z0-9])?)?$/i.exec(value);
  if (match === null) throw new InvalidAgentOption({ option, value, reason: "it must be a label, such as team=shop" });
  return [match[1] ?? "", match[2] ?? ""];
}

/** An `https` URL without credentials, as peers are told it. */
export function endpointOption(option: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "")
    throw new InvalidAgentOption({ option, value, reason: "it must be a URL such as https://wave.example:7443" });
  return value.replace(/\/$/, "");
}
