import { group as fjordGroup } from "@fjord/api";
import { inUnits, parseQuantity, type Quantity } from "@fjord/kube";
import { fieldsOf } from "../../fields-of.ts";
import { askedAddresses } from "./asked-addresses.ts";
import { askedHosts, askedNames } from "./asked-hosts.ts";
import { shadowClaims } from "./ephemeral-claims.ts";

/** What a write asks for besides room in the API: means of the provider that no contract names. */
export interface AskedMeans {
  /** Bytes of the volume that a claim asks for. */
  readonly storage?: number;
  /** Volumes that come with a pod. */
  readonly volumes?: readonly BroughtVolume[];
  /** Whether a Service has ports of nodes or a load balancer; undefined where the write leaves that as it is. */
  readonly exposed?: boolean;
  /** How many ports a Service has; undefined where the write names none. */
  readonly ports?: number;
  /** Hosts that an Ingress is for, as `askedHosts` gives them, or names in the DNS for a Service. */
  readonly hosts?: readonly string[];
  /** That endpoints of a slice lead to. */
  readonly addresses?: readonly string[];
  /** That a Service stands for. */
  readonly externalNames?: readonly string[];
}

/** A volume that Kubernetes makes for a pod and removes with it. */
export interface BroughtVolume {
  readonly name: string;
  readonly bytes: number;
}

/** As `Role` rules name them. */
export const SHADOW_PODS = `shadowpods.${fjordGroup}`;

const EXPOSED = ["NodePort", "LoadBalancer"];

/** Whether a Service of the type has ports of nodes. */
export function isExposed(type: unknown): boolean {
  return EXPOSED.includes(String(type));
}

/** `object` may be a part of one, as patches are; where it is `whole`, what it does not say is what the API takes for it. */
export function askedMeans(resource: string, object: unknown, whole: boolean): AskedMeans {
  const spec = fieldsOf(fieldsOf(object).spec);
  if (resource === "persistentvolumeclaims") return askedStorage(object);
  if (resource === SHADOW_PODS) return some("volumes", broughtVolumes(object));
  if (resource === "ingresses.networking.k8s.io") return some("hosts", askedHosts(object));
  if (resource === "endpointslices.discovery.k8s.io") return some("addresses", askedAddresses(object));
  if (resource !== "services") return {};
  const { externalName, ports } = spec;
  return {
    ...some("hosts", askedNames(object)),
    ...((whole || "type" in spec) && { exposed: isExposed(spec.type) }),
    ...(Array.isArray(ports) && ports.length > 0 && { ports: ports.length }),
    // Of whatever type it is: that may be changed by itself.
    ...some("externalNames", typeof externalName === "string" && externalName !== "" ? [externalName] : []),
  };
}

type Listed = "volumes" | "hosts" | "addresses" | "externalNames";

function some<N extends Listed>(name: N, asked: NonNullable<AskedMeans[N]>): AskedMeans {
  return asked.length > 0 ? { [name]: asked } : {};
}

/** What several parts of a write ask for at most. */
export function mostAsked(one: AskedMeans, other: AskedMeans): AskedMeans {
  const storage = Math.max(one.storage ?? -1, other.storage ?? -1);
  const exposed = one.exposed || (other.exposed ?? one.exposed);
  const ports = Math.max(one.ports ?? 0, other.ports ?? 0);
  const all = (name: Exclude<Listed, "volumes">) => [...(one[name] ?? []), ...(other[name] ?? [])];
  return {
    ...(storage >= 0 && { storage }),
    ...(exposed !== undefined && { exposed }),
    ...(ports > 0 && { ports }),
    ...some("volumes", [...(one.volumes ?? []), ...(other.volumes ?? [])]),
    ...some("hosts", all("hosts")),
    ...some("addresses", all("addresses")),
    ...some("externalNames", all("externalNames")),
  };
}

/** The claim that an object is, or the templates of those that come with it. */
function claimsIn(resource: string, object: unknown): readonly unknown[] {
  if (resource === "persistentvolumeclaims") return [object];
  return resource === SHADOW_PODS ? shadowClaims(object).map(({ template }) => template) : [];
}

function askedStorage(claim: unknown): AskedMeans {
  const storage = storageOf(claim);
  return storage === undefined ? {} : { storage };
}

function broughtVolumes(shadow: unknown): BroughtVolume[] {
  return shadowClaims(shadow).flatMap(({ volume, template }) => {
    const bytes = storageOf(template);
    return bytes === undefined ? [] : [{ name: volume, bytes }];
  });
}

/**
 * What is wrong with an amount of storage in an object; undefined where all is well. One below nothing would make room for what others ask
 * for. One that is not read here may be read by the API server, which takes spaces around it and exponents of any length.
 */
export function storageProblem(resource: string, object: unknown): string | undefined {
  for (const claim of claimsIn(resource, object)) {
    const amount = amountIn(claim);
    if (amount === undefined || amount === null) continue;
    const quantity = quantityOf(amount);
    if (quantity === undefined) return "a request for storage is no amount";
    if (quantity < 0n) return "a request is less than nothing";
  }
  return undefined;
}

/** Bytes that a claim, or a template of one, asks for; undefined where that is none, or cannot be read. */
export function storageOf(claim: unknown): number | undefined {
  return bytesOf(amountIn(claim));
}

/** Bytes that a claim has, or is to have: what is given to it stays so where it asks for less since. As a ResourceQuota counts. */
export function claimedStorage(claim: unknown): number {
  const { allocatedResources } = fieldsOf(fieldsOf(claim).status);
  return Math.max(storageOf(claim) ?? 0, bytesOf(fieldsOf(allocatedResources).storage) ?? 0);
}

function bytesOf(amount: unknown): number | undefined {
  const quantity = quantityOf(amount);
  return quantity === undefined ? undefined : Math.max(0, inUnits(quantity));
}

function amountIn(claim: unknown): unknown {
  const { resources } = fieldsOf(fieldsOf(claim).spec);
  return fieldsOf(fieldsOf(resources).requests).storage;
}

function quantityOf(amount: unknown): Quantity | undefined {
  if (typeof amount !== "string" && typeof amount !== "number") return undefined;
  try {
    return parseQuantity(amount);
  } catch {
    return undefined;
  }
}
