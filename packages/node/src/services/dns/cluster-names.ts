import { isIPv6 } from "node:net";
import type { EndpointSlice, Service } from "@fjord/kube";
import { type Answer, type Question, RECORD_TYPES, RESPONSE_CODES, type ResourceRecord } from "./message.ts";

/** What names are made of. */
export interface NameSource {
  service(namespace: string, name: string): Service | undefined;
  slices(namespace: string, name: string): readonly EndpointSlice[];
  hasNamespace(name: string): boolean;
  /** The service of an address, for names by address. */
  serviceAt(ip: string): Service | undefined;
}

const TTL = 5;

/**
 * Answers as Kubernetes' specification of DNS-based service discovery says; undefined for names that are not the
 * cluster's.
 */
export function clusterAnswer({ name, type }: Question, domain: string, source: NameSource): Answer | undefined {
  if (name.endsWith(".arpa")) return reverseAnswer(name, type, domain, source);
  if (name !== domain && !name.endsWith(`.${domain}`)) return undefined;
  const authority: ResourceRecord[] = [{ type: "SOA", name: domain, ttl: TTL, zone: domain }];
  const labels = name
    .slice(0, -domain.length - 1)
    .split(".")
    .reverse();
  const records = find(labels, name, domain, source);
  if (records === undefined) return { code: RESPONSE_CODES.noSuchName, answers: [], authority };
  const answers = records.filter(
    (record) => type === RECORD_TYPES.ANY || record.type === "CNAME" || RECORD_TYPES[record.type] === type,
  );
  return answers.length === 0 ? { code: RESPONSE_CODES.ok, answers, authority } : { code: RESPONSE_CODES.ok, answers };
}

/** Labels from the right. undefined: there is no such name; an empty list: there is, but nothing of that type. */
function find(
  [kind, namespace, name, ...rest]: string[],
  asked: string,
  domain: string,
  source: NameSource,
): ResourceRecord[] | undefined {
  if (kind === "" || kind === undefined) return [];
  if (kind === "pod") return podRecords(namespace, name, rest, asked, source);
  if (kind !== "svc") return undefined;
  if (namespace === undefined) return [];
  if (name === undefined) return source.hasNamespace(namespace) ? [] : undefined;
  const service = source.service(namespace, name);
  if (service === undefined) return undefined;
  const { spec } = service;
  if (spec?.type === "ExternalName") {
    return rest.length > 0
      ? undefined
      : [{ type: "CNAME", name: asked, ttl: TTL, target: strip(spec.externalName ?? "") }];
  }
  const isHeadless = spec?.clusterIP === "None";
  if (rest.length === 0) {
    return isHeadless
      ? endpointsOf(service, source).map(({ ip }) => address(asked, ip))
      : (spec?.clusterIPs ?? [spec?.clusterIP ?? ""]).filter((ip) => ip !== "").map((ip) => address(asked, ip));
  }
  const [first = "", second, ...more] = rest;
  if (second !== undefined && more.length === 0 && first.startsWith("_") && second.startsWith("_")) {
    return serviceRecords(service, second.slice(1), first.slice(1), asked, domain, source);
  }
  if (!isHeadless || second !== undefined) return undefined;
  const named = endpointsOf(service, source).filter(({ hostname }) => hostname === first);
  return named.length === 0 ? undefined : named.map(({ ip }) => address(asked, ip));
}

/** `10-1-2-3.shop.pod`: an address as a name. */
function podRecords(
  namespace: string | undefined,
  name: string | undefined,
  rest: string[],
  asked: string,
  source: NameSource,
): ResourceRecord[] | undefined {
  if (namespace === undefined) return [];
  if (!source.hasNamespace(namespace) || rest.length > 0) return undefined;
  if (name === undefined) return [];
  const ip = /^\d+-\d+-\d+-\d+$/.test(name) ? name.replaceAll("-", ".") : name.replaceAll("-", ":");
  const isAddress = isIPv6(ip) || ip.split(".").every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256);
  return isAddress && name.includes("-") ? [address(asked, ip)] : undefined;
}

function serviceRecords(
  service: Service,
  port: string,
  protocol: string,
  asked: string,
  domain: string,
  source: NameSource,
): ResourceRecord[] | undefined {
  const { metadata, spec } = service;
  const own = `${metadata.name}.${metadata.namespace}.svc.${domain}`;
  const found = spec?.ports?.find((one) => one.name === port && (one.protocol ?? "TCP").toLowerCase() === protocol);
  if (found === undefined) return undefined;
  if (spec?.clusterIP !== "None") {
    return [{ type: "SRV", name: asked, ttl: TTL, target: own, port: found.port, weight: 100 }];
  }
  return endpointsOf(service, source).flatMap(({ ip, hostname, ports }) => {
    const number = ports.get(port);
    const label = hostname ?? ip.replaceAll(/[.:]/g, "-");
    return number === undefined
      ? []
      : [{ type: "SRV" as const, name: asked, ttl: TTL, target: `${label}.${own}`, port: number, weight: 100 }];
  });
}

interface NamedEndpoint {
  readonly ip: string;
  readonly hostname: string | undefined;
  readonly ports: ReadonlyMap<string, number>;
}

function endpointsOf({ metadata, spec }: Service, source: NameSource): NamedEndpoint[] {
  const found = new Map<string, NamedEndpoint>();
  for (const { endpoints, ports, addressType } of source.slices(metadata.namespace ?? "", metadata.name ?? "")) {
    if (addressType === "FQDN") continue;
    const numbers = new Map(
      (ports ?? []).flatMap(({ name = "", port }) => (port === undefined ? [] : [[name, port] as const])),
    );
    for (const { addresses, conditions, hostname } of endpoints ?? []) {
      if (conditions?.ready === false && spec?.publishNotReadyAddresses !== true) continue;
      const dashed = (ip: string) => hostname ?? ip.replaceAll(/[.:]/g, "-");
      for (const ip of addresses) found.set(ip, { ip, hostname: dashed(ip), ports: numbers });
    }
  }
  return [...found.values()];
}

function reverseAnswer(name: string, type: number, domain: string, source: NameSource): Answer | undefined {
  const ip = addressOf(name);
  const service = ip === undefined ? undefined : source.serviceAt(ip);
  if (service === undefined) return undefined;
  const { metadata } = service;
  const target = `${metadata.name}.${metadata.namespace}.svc.${domain}`;
  const wanted = type === RECORD_TYPES.PTR || type === RECORD_TYPES.ANY;
  return { code: RESPONSE_CODES.ok, answers: wanted ? [{ type: "PTR", name, ttl: TTL, target }] : [] };
}

function addressOf(name: string): string | undefined {
  if (name.endsWith(".in-addr.arpa")) return name.slice(0, -13).split(".").reverse().join(".");
  if (!name.endsWith(".ip6.arpa")) return undefined;
  const nibbles = name.slice(0, -9).split(".").reverse().join("");
  return nibbles
    .match(/.{4}/g)
    ?.map((group) => group.replace(/^0{1,3}/, ""))
    .join(":");
}

function address(name: string, ip: string): ResourceRecord {
  return { type: isIPv6(ip) ? "AAAA" : "A", name, ttl: TTL, address: ip };
}

function strip(name: string): string {
  return name.replace(/\.$/, "");
}
