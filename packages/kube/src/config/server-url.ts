/** A base URL in its normal form, or what is wrong with it. Passwords in URLs are refused, and not repeated. */
export type UrlCheck = { url: string } | { problem: string };

/** The server of a cluster. Without a scheme it is taken as kubectl does: https where TLS is configured, else http. */
export function checkServerUrl(text: string, tls: boolean): UrlCheck {
  const url = parse(hasScheme(text) ? text : `${tls ? "https" : "http"}://${text}`);
  if (url === undefined) return { problem: "not a URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return { problem: `the scheme ${scheme(url)} is not http or https` };
  if (url.username !== "" || url.password !== "") return { problem: "a URL must not hold a user or a password" };
  if (url.search !== "" || url.hash !== "") return { problem: "a base URL has no query and no fragment" };
  return { url: url.href.replace(/\/+$/, "") };
}

/** The proxy of a cluster. A user and password in it are fine: they go to the proxy. */
export function checkProxyUrl(text: string): UrlCheck {
  const url = hasScheme(text) ? parse(text) : undefined;
  if (url === undefined) return { problem: "not a URL (such as http://proxy.example.com:3128)" };
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return { problem: `proxies of the scheme ${scheme(url)} are not supported, only http and https` };
  }
  return { url: url.href.replace(/\/+$/, "") };
}

function hasScheme(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

function scheme(url: URL): string {
  return url.protocol.slice(0, -1);
}

function parse(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
