import { ConnectionError } from "../client/api-error.ts";
import type { KubeClient } from "../client/client.ts";

export type Answer = Record<string, unknown>;

/** An answer that is a JSON object; what is in it is for the caller to look at, and nothing to rely on. */
export async function getAnswer(
  client: Pick<KubeClient, "raw" | "transport">,
  path: string,
  headers?: Record<string, string>,
): Promise<Answer> {
  const { body } = await client.raw("GET", path, { headers });
  const broken = (reason: string, cause?: unknown) =>
    new ConnectionError({ action: `GET ${path}`, server: client.transport.server, reason, cause, sent: true });
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw broken("the answer is not JSON: is this a Kubernetes API?", cause);
  }
  if (!isObject(value)) throw broken("the answer is not what a Kubernetes API gives");
  return value;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

export function objectOf(value: unknown): Answer {
  return isObject(value) ? value : {};
}

export function objectsOf(value: unknown): Answer[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Whether a group, version or plural can be a part of a path, as Kubernetes has them all be. */
export function isPathPart(text: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text);
}

function isObject(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
