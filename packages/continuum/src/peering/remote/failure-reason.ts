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

/** Where a site neither has an endpoint nor has come by itself: what its owner has to do; undefined for any other failure. */
export function whyNotDialledIn(error: unknown, site: string): string | undefined {
  if (!causes(error).some((each) => each instanceof NoParkedConnection)) return undefined;
  return `${site} has no endpoint and has not dialled out to this site: its agent does so where it runs and this site may use it, so pair them there with --both-ways`;
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
