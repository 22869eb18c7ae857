import type { IncomingMessage } from "node:http";
import { badRequest } from "../status-error.ts";
import { unescapeKey } from "./front-proxy.ts";

/** What a request wants to be. */
export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const EXTRA = "impersonate-extra-";

/** undefined: the request is its caller's own. Throws (400) for groups and the like without a user. */
export function impersonationOf({
  headers,
  headersDistinct,
}: Pick<IncomingMessage, "headers" | "headersDistinct">): Impersonation | undefined {
  // Nearly no request has any, hence no list is made before one is seen.
  let found = false;
  for (const name in headers) found ||= name.startsWith("impersonate-");
  if (!found) return undefined;
  const first = (name: string) => headersDistinct[name]?.[0] ?? "";
  const extra: Record<string, readonly string[]> = {};
  for (const name in headers) {
    if (name.startsWith(EXTRA)) extra[unescapeKey(name.slice(EXTRA.length))] = headersDistinct[name] ?? [];
  }
  const wanted = {
    user: first("impersonate-user"),
    groups: headersDistinct["impersonate-group"] ?? [],
    uid: first("impersonate-uid"),
    extra,
  };
  if (wanted.user !== "") return wanted;
  if (wanted.uid === "" && wanted.groups.length === 0 && Object.keys(extra).length === 0) return undefined;
  throw badRequest(`requested ${goText(wanted)} without impersonating a user name`);
}

/** As Go prints it, because the real server does. */
function goText({ user, uid, groups, extra }: Impersonation): string {
  const strings = (texts: readonly string[]) => `[]string{${texts.map((text) => JSON.stringify(text)).join(", ")}}`;
  const keys = Object.keys(extra).sort();
  const pairs = keys.map((key) => `${JSON.stringify(key)}:${strings(extra[key] ?? [])}`).join(", ");
  const parts = [
    `Name:${JSON.stringify(user)}`,
    `UID:${JSON.stringify(uid)}`,
    `Groups:${groups.length === 0 ? "[]string(nil)" : strings(groups)}`,
    `Extra:${keys.length === 0 ? "map[string][]string(nil)" : `map[string][]string{${pairs}}`}`,
  ];
  return `&user.DefaultInfo{${parts.join(", ")}}`;
}
