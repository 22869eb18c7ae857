import { describeError } from "@fjord/base";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Reachability } from "../../remote-site.ts";
import { NoParkedConnection } from "../tunnel/errors.ts";

/** Why a site counts as away, out of what asking it came to. */
export function failureReason(error: unknown, tunnelled: boolean): Pick<Reachability, "reason" | "message"> {
  const message = describeError(error).slice(0, 512);
  const chain = causes(error);
  if (chain.some((each) => (each as { reason?: unknown }).reason === "WrongKey"))
    return { reason: "WrongKey", message };
  if (tunnelled && chain.some((each) => each instanceof NoParkedConnection || (each as Error).name === "NoWay"))
    return { reason: "NoEndpoint", message };
  // It is there, and does not want us: whoever looks is told what it says.
  if (error instanceof PeerRefused)
    return { reason: error.refusal.code === "NotPaired" ? "NotPaired" : "ConnectionFailed", message };
  if (chain.some(isTimeout)) return { reason: "TimedOut", message };
  return { reason: "ConnectionFailed", message };
}

function isTimeout(error: unknown): boolean {
  const { name, code, message } = error as NodeJS.ErrnoException;
  return name === "TimedOut" || code === "ETIMEDOUT" || /no connection within/.test(message ?? "");
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let each = error; each instanceof Error && chain.length < 8; each = each.cause) chain.push(each);
  return chain;
}
