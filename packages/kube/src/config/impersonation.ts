import { ImpersonationInvalid } from "./errors.ts";

/** Whom to act as; the server must allow it. */
export interface Impersonation {
  readonly user: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const userHeader = "Impersonate-User";
const groupHeader = "Impersonate-Group";
const uidHeader = "Impersonate-Uid";
const extraPrefix = "Impersonate-Extra-";

/**
 * Each group and each extra value goes into a header line of its own. What a server would read as someone else, or as
 * nobody (and so as the caller itself), is refused.
 */
export function impersonationHeaders(who: Impersonation): Record<string, string | string[]> {
  refuse("user", identityProblem(who.user));
  for (const group of who.groups ?? []) refuse("groups", identityProblem(group));
  if (who.uid !== undefined) refuse("uid", identityProblem(who.uid));
  for (const [key, values] of Object.entries(who.extra ?? {})) {
    refuse("extra", key === "" ? "a key is empty" : textProblem(key));
    for (const value of values) refuse(`extra.${JSON.stringify(key)}`, textProblem(value));
  }
  const headers: Record<string, string | string[]> = { [userHeader]: headerValue(who.user) };
  if (who.groups?.length) headers[groupHeader] = who.groups.map(headerValue);
  if (who.uid !== undefined) headers[uidHeader] = headerValue(who.uid);
  for (const [key, values] of Object.entries(who.extra ?? {})) {
    headers[extraPrefix + headerKey(key)] = values.map(headerValue);
  }
  return headers;
}

/** The way back, and the headers that have nothing to do with impersonation. */
export function impersonationOf(headers: Readonly<Record<string, string | string[]>>): {
  impersonation?: Impersonation;
  others: string[];
} {
  let user: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra: Record<string, string[]> = {};
  const others: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const values = [value].flat().map(fromHeaderValue);
    const lower = name.toLowerCase();
    if (lower === userHeader.toLowerCase()) user = values[0];
    else if (lower === uidHeader.toLowerCase()) uid = values[0];
    else if (lower === groupHeader.toLowerCase()) groups.push(...values);
    else if (lower.startsWith(extraPrefix.toLowerCase()))
      extra[decodeURIComponent(lower.slice(extraPrefix.length))] = values;
    else others.push(name);
  }
  if (user === undefined) return { others };
  const impersonation = {
    user,
    ...(groups.length > 0 ? { groups } : {}),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
  return { impersonation, others };
}

/** Why this cannot be the name of a user or a group, or a UID; undefined where it can. */
export function identityProblem(text: unknown): string | undefined {
  if (text === "" || text === undefined || text === null) return "it is empty";
  return typeof text === "string" && text.trim() === "" ? "it is blank" : textProblem(text);
}

function textProblem(text: unknown): string | undefined {
  if (typeof text !== "string") return "it is not a string";
  if (!isHeaderSafe(text)) return "holds a line break or another control character";
  if (!text.isWellFormed()) return "holds half a character";
  // Whatever reads a header cuts these off, and has another name.
  return text.trim() === text ? undefined : "begins or ends with a space";
}

function refuse(field: string, problem: string | undefined): void {
  if (problem !== undefined) throw new ImpersonationInvalid({ field, problem });
}

/** A line break or another control character could smuggle a header in. */
export function isHeaderSafe(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that are looked for
  return !/[\u0000-\u001f\u007f]/.test(text);
}

// Node writes header values as Latin-1; Kubernetes reads the bytes as UTF-8.
function headerValue(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function fromHeaderValue(text: string): string {
  return Buffer.from(text, "latin1").toString("utf8");
}

// Names such as scopes.example.com/view: everything that a header name cannot hold is percent-encoded.
function headerKey(key: string): string {
  return Buffer.from(key.toLowerCase(), "utf8").reduce((name, byte) => {
    const character = String.fromCharCode(byte);
    const legal = /[!#$&'*+.^_`|~0-9a-z-]/.test(character);
    return name + (legal ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`);
  }, "");
}
