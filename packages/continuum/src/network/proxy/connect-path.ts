import { PROTOCOL } from "../../protocol.ts";
import type { ServedAt } from "./shared-endpoints.ts";

/** Below this a peer asks to be led to a pod here: `/fjord/v1/connect/127.88.0.7/8080`. */
export const CONNECT_PREFIX = `${PROTOCOL}/connect`;
export const CONNECT_UPGRADE = "fjord-connect";

export function connectPath({ address, port }: ServedAt): string {
  return `${CONNECT_PREFIX}/${address}/${port}`;
}

/** Undefined for any path but the one way in which such a one is written. */
export function parseConnectPath(path: string): ServedAt | undefined {
  const [, address = "", port = ""] =
    /^\/fjord\/v1\/connect\/((?:\d{1,3}\.){3}\d{1,3})\/([1-9]\d{0,4})$/.exec(path) ?? [];
  const parts = address.split(".");
  const isPlain = parts.length === 4 && parts.every((part) => Number(part) <= 255 && String(Number(part)) === part);
  return isPlain && Number(port) <= 65535 ? { address, port: Number(port) } : undefined;
}
