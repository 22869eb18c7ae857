import { PROTOCOL, type Refusal } from "../../protocol.ts";
import type { Protocol, ServedAt } from "./shared-endpoints.ts";

/** Where agents ask each other for streams over which connections are carried, one after the other. */
export const CONNECT_PATH = `${PROTOCOL}/connect`;
export const CONNECT_UPGRADE = "fjord-connect";

/** A pod as one agent tells the other of it. */
export interface ToldPod {
  /** As the one who tells calls it. */
  readonly address?: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What is asked for over a stream: to be led to a pod, or that datagrams of many go over it. */
export type Open = ({ readonly client?: ToldPod } & ServedAt) | "datagrams";

/** The answer: who is led to, or why nobody is. */
export type Opened = { readonly server?: ToldPod } | { readonly refusal: Refusal };

export function openText(open: Open): string {
  return JSON.stringify(open);
}

/** Undefined for anything but what is written by `openText`. */
export function parseOpen(text: string): Open | undefined {
  const value = parsed(text);
  if (value === "datagrams") return value;
  if (!isRecord(value)) return undefined;
  const { protocol, address, port, client } = value;
  if ((protocol !== "TCP" && protocol !== "UDP") || !isAddress(address) || !isPort(port)) return undefined;
  const told = client === undefined ? undefined : toldPod(client);
  if (client !== undefined && told === undefined) return undefined;
  return { protocol: protocol as Protocol, address, port, ...(told && { client: told }) };
}

/** Undefined where the answer is none. */
export function parseOpened(text: string): Opened | undefined {
  const value = parsed(text);
  if (!isRecord(value)) return undefined;
  const { refusal, server } = value;
  if (isRecord(refusal)) {
    const { code, message } = refusal;
    if (!isText(code, 64) || !isText(message, 512)) return undefined;
    return { refusal: { code, message } };
  }
  const told = server === undefined ? undefined : toldPod(server);
  return server !== undefined && told === undefined ? undefined : { ...(told && { server: told }) };
}

/** More than any pod should need; one with more is told without. */
export const MOST_LABELS = 64;

function toldPod(value: unknown): ToldPod | undefined {
  if (!isRecord(value)) return undefined;
  const { address, namespace, name, labels } = value;
  if (!isText(namespace, 63) || !isText(name, 253) || !isRecord(labels)) return undefined;
  if (address !== undefined && !isAddress(address)) return undefined;
  const entries = Object.entries(labels);
  if (entries.length > MOST_LABELS) return undefined;
  const plain = entries.flatMap(([key, text]) => (key.length <= 317 && isText(text, 63) ? [[key, text] as const] : []));
  if (plain.length !== entries.length) return undefined;
  return { namespace, name, labels: Object.fromEntries(plain), ...(address !== undefined && { address }) };
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === "string" && value.length <= longest;
}

function isAddress(value: unknown): value is string {
  if (!isText(value, 15) || !/^(\d{1,3}\.){3}\d{1,3}$/.test(value)) return false;
  return value.split(".").every((part) => Number(part) <= 255 && String(Number(part)) === part);
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65535;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
