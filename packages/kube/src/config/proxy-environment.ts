import { BlockList, isIP } from "node:net";
import { ClusterConfigInvalid } from "./errors.ts";
import { checkProxyUrl } from "./server-url.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY (or their lower-case twins) ask for, as kubectl reads them. */
export function proxyFromEnvironment(server: string, env: Environment): string | undefined {
  const url = new URL(server);
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = env[name] || env[name.toLowerCase()];
  if (!proxy || isExempt(url, env.NO_PROXY || env.no_proxy || "")) return undefined;
  const check = checkProxyUrl(proxy.includes("://") ? proxy : `http://${proxy}`);
  if ("problem" in check) throw new ClusterConfigInvalid({ field: name, problem: check.problem });
  return check.url;
}

function isExempt(url: URL, exemptions: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "localhost" || inRange(host, "127.0.0.0/8") || host === "::1") return true;
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return exemptions
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== "" && matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return inRange(host, entry);
  if (isIP(entry) !== 0) return entry === host;
  const [name = "", wantedPort] = entry.split(":");
  if (wantedPort !== undefined && wantedPort !== port) return false;
  if (isIP(name) !== 0) return name === host;
  const domain = name.replace(/^\*?\./, "");
  return host.endsWith(`.${domain}`) || (name === domain && host === domain);
}

function inRange(host: string, range: string): boolean {
  const [network = "", prefix = ""] = range.split("/");
  const family = isIP(network) === 6 ? "ipv6" : "ipv4";
  if (isIP(host) === 0 || isIP(network) !== isIP(host) || !/^\d+$/.test(prefix)) return false;
  if (Number(prefix) > (family === "ipv6" ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), family);
  return list.check(host, family);
}
