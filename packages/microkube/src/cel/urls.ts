import type { Environment } from "@marcbachmann/cel-js";

const TYPE = "kubernetes.URL";

/** As it was written: a port that goes without saying is still one, and no path is none. */
class CelUrl {
  readonly scheme: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
  readonly query: string;
  constructor(parts: { scheme: string; hostname: string; port: string; path: string; query: string }) {
    this.scheme = parts.scheme;
    this.hostname = parts.hostname;
    this.port = parts.port;
    this.path = parts.path;
    this.query = parts.query;
  }
}

/** `url("https://example.com:443/path?a=1")`. */
export function registerUrls(environment: Environment): void {
  environment
    .registerType(TYPE, { ctor: CelUrl, fields: {} })
    .registerFunction("isURL(string): bool", (text: string) => parseUrl(text) !== undefined)
    .registerFunction(`url(string): ${TYPE}`, (text: string) => {
      const url = parseUrl(text);
      if (url !== undefined) return url;
      throw new Error(`URL parse error during conversion from string: ${urlProblem(text)}`);
    })
    .registerFunction(`${TYPE}.getScheme(): string`, ({ scheme }: CelUrl) => scheme)
    .registerFunction(`${TYPE}.getHost(): string`, ({ hostname, port }: CelUrl) =>
      port === "" ? hostname : `${hostname}:${port}`,
    )
    .registerFunction(`${TYPE}.getHostname(): string`, ({ hostname }: CelUrl) => hostname.replace(/^\[|\]$/g, ""))
    .registerFunction(`${TYPE}.getPort(): string`, ({ port }: CelUrl) => port)
    .registerFunction(`${TYPE}.getEscapedPath(): string`, ({ path }: CelUrl) => escaped(path))
    .registerFunction(`${TYPE}.getQuery(): map<string, list<string>>`, ({ query }: CelUrl) => queryOf(query));
}

/** What is wrong with a text that is no absolute URI or path. */
export const urlProblem = (text: string): string =>
  `parse ${JSON.stringify(text)}: ${text === "" ? "empty url" : "invalid URI for request"}`;

/** An absolute URI, or an absolute path. */
export function parseUrl(text: string): CelUrl | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (text === "" || /[\u0000-\u001f\u007f]/.test(text)) return undefined;
  const [, scheme = "", rest = ""] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(.*)$/s.exec(text) ?? [];
  const [before = "", query = ""] = splitOnce(rest, "?");
  const nothing = { scheme: scheme.toLowerCase(), hostname: "", port: "", query };
  if (!before.startsWith("/")) return scheme === "" ? undefined : new CelUrl({ ...nothing, path: "" });
  const hasAuthority = before.startsWith("//") && (scheme !== "" || !before.startsWith("///"));
  const [authority = "", path = ""] = hasAuthority ? splitBefore(before.slice(2), "/") : ["", before];
  const host = readHost(authority);
  if (host === undefined || /%(?![0-9A-Fa-f]{2})/.test(path)) return undefined;
  return new CelUrl({ ...nothing, ...host, path });
}

function readHost(authority: string): { hostname: string; port: string } | undefined {
  const at = authority.lastIndexOf("@");
  const [, hostname, port = ""] = /^(\[[0-9A-Fa-f:.%]*\]|[^:[\]]*)(?::(\d*))?$/.exec(authority.slice(at + 1)) ?? [];
  if (hostname === undefined || /[\s<>"\\^`{|}]/.test(hostname)) return undefined;
  return { hostname, port };
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function splitBefore(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

const escaped = (path: string): string =>
  path.replaceAll(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]]/gu, (found) =>
    found.length === 3 && found.startsWith("%") ? found : encodeURIComponent(found),
  );

function queryOf(query: string): Record<string, string[]> {
  const found: Record<string, string[]> = Object.create(null);
  // Pairs with a semicolon or a broken escape are left out, as by Go.
  for (const pair of query.split("&").filter((one) => one !== "" && !one.includes(";"))) {
    const [key = "", value = ""] = splitOnce(pair, "=").map(unescaped);
    if (key === undefined || value === undefined) continue;
    found[key] = [...(found[key] ?? []), value];
  }
  return { ...found };
}

function unescaped(text: string | undefined): string | undefined {
  try {
    return text === undefined ? "" : decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
