import type { Secret } from "@fjord/kube";
import type { RegistryCredentials } from "../../runtime/index.ts";
import { parseImage } from "./image-reference.ts";

interface Entry {
  readonly username?: unknown;
  readonly password?: unknown;
  readonly auth?: unknown;
  readonly identitytoken?: unknown;
  readonly registrytoken?: unknown;
}

/** The credentials of pull secrets that are meant for the image's registry; the most specific ones first. */
export function credentialsFor(image: string, secrets: readonly Secret[]): RegistryCredentials[] {
  const reference = parseImage(image);
  if (reference === undefined) return [];
  const place = `${reference.registry}/${reference.repository}`;
  const found = secrets.flatMap(entriesOf).filter(([address]) => covers(normalAddress(address), place));
  found.sort(([a], [b]) => normalAddress(b).length - normalAddress(a).length);
  return found.map(([address, entry]) => credentialsOf(address, entry));
}

function entriesOf(secret: Secret): [string, Entry][] {
  const { ".dockerconfigjson": current, ".dockercfg": legacy } = secret.data ?? {};
  if (current !== undefined) return Object.entries(parse(current)?.auths ?? {}) as [string, Entry][];
  return legacy === undefined ? [] : (Object.entries(parse(legacy) ?? {}) as [string, Entry][]);
}

/** A secret that is no JSON has no credentials; the registry's refusal will tell. */
function parse(base64: string): { auths?: Record<string, unknown> } | undefined {
  try {
    return JSON.parse(Buffer.from(base64, "base64").toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Without scheme and API version: `https://index.docker.io/v1/` is `docker.io`. */
function normalAddress(address: string): string {
  const bare = address
    .replace(/^https?:\/\//, "")
    .replace(/\/+$/, "")
    .replace(/\/v[12]$/, "");
  return bare === "index.docker.io" || bare === "registry-1.docker.io" ? "docker.io" : bare;
}

/** `*.example.com` stands for any one label; a path covers all below it. */
function covers(address: string, place: string): boolean {
  const [host = "", ...path] = address.split("/");
  const [placeHost = "", ...placePath] = place.split("/");
  const labels = host.split(".");
  const placeLabels = placeHost.split(".");
  if (labels.length !== placeLabels.length) return false;
  const sameHost = labels.every((label, index) => globMatches(label, placeLabels[index] ?? ""));
  return sameHost && placePath.join("/").startsWith(path.join("/"));
}

function globMatches(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(text);
}

function credentialsOf(serverAddress: string, entry: Entry): RegistryCredentials {
  const [username, password] = decodeAuth(entry);
  return {
    serverAddress,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(typeof entry.identitytoken === "string" && { identityToken: entry.identitytoken }),
    ...(typeof entry.registrytoken === "string" && { registryToken: entry.registrytoken }),
  };
}

function decodeAuth({ username, password, auth }: Entry): [string | undefined, string | undefined] {
  if (typeof auth === "string" && auth !== "") {
    const text = Buffer.from(auth, "base64").toString("utf8");
    const colon = text.indexOf(":");
    if (colon !== -1) return [text.slice(0, colon), text.slice(colon + 1)];
  }
  return [typeof username === "string" ? username : undefined, typeof password === "string" ? password : undefined];
}
