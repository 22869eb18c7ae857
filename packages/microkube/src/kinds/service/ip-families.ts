import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { invalid } from "../../status-error.ts";
import { sameMeaning } from "../values/equality.ts";
import { type IpFamily, parseIp } from "../values/ip-address.ts";
import { validateClusterIps } from "./cluster-ips.ts";
import { isHeadless, needsAddress, type Service, type ServiceSpec } from "./service-shape.ts";

/** Fills in which families a service has, by what it asks for and what the cluster offers. Throws where that fails. */
export function settleFamilies(service: Service, old: Service | undefined, offered: readonly IpFamily[]): void {
  const spec = service.spec ?? {};
  if (!needsAddress(spec)) return;
  const before = old?.spec;
  if (keepsPreferred(spec, before)) return;
  const withoutPods = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= before?.ipFamilyPolicy ?? (withoutPods ? "RequireDualStack" : "SingleStack");
  refuse(service, validateClusterIps(spec));
  refuse(service, settleSingle(spec, before));
  refuse(service, addFamiliesOfAddresses(spec, offered));
  const first = offered[0] ?? "IPv4";
  if (withoutPods) {
    if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = [first];
    addSecond(spec);
    return;
  }
  refuse(service, validateOffered(spec, offered));
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = [first];
  if (offered.length === 2) addSecond(spec);
}

function refuse({ metadata }: Service, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: "", kind: "Service" }, metadata.name ?? "", errors);
}

/** What an old object says of a preference stays as it is, also where the cluster offers more by now. */
function keepsPreferred(spec: ServiceSpec, before: ServiceSpec | undefined): boolean {
  if (before === undefined || spec.ipFamilyPolicy !== "PreferDualStack") return false;
  if (before.ipFamilyPolicy !== "PreferDualStack" || before.type === "ExternalName") return false;
  return sameMeaning(spec.clusterIPs, before.clusterIPs) && sameMeaning(spec.ipFamilies, before.ipFamilies);
}

function settleSingle(spec: ServiceSpec, before: ServiceSpec | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const path = "spec.ipFamilyPolicy";
  const { ipFamilyPolicy: policy } = spec;
  const isSingle = policy === "SingleStack";
  if (before !== undefined && isSingle) {
    if (sameMeaning(before.clusterIPs, spec.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1);
    if (sameMeaning(before.ipFamilies, spec.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1);
  } else if (before !== undefined) {
    if (isReduced(before.clusterIPs, spec.clusterIPs)) {
      errors.push(invalidField(path, policy, "must be 'SingleStack' to release the secondary cluster IP"));
    }
    if (isReduced(before.ipFamilies, spec.ipFamilies)) {
      errors.push(invalidField(path, policy, "must be 'SingleStack' to release the secondary IP family"));
    }
  }
  if (!isSingle) return errors;
  const must = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  if (spec.clusterIPs?.length === 2) errors.push(invalidField(path, policy, `${must} cluster IPs are specified`));
  if (spec.ipFamilies?.length === 2) errors.push(invalidField(path, policy, `${must} IP families are specified`));
  return errors;
}

const isReduced = (before: readonly unknown[] | undefined, now: readonly unknown[] | undefined): boolean =>
  (before ?? []).length === 2 && (now ?? []).length === 1 && before?.[0] === now?.[0];

function addFamiliesOfAddresses(spec: ServiceSpec, offered: readonly IpFamily[]): FieldError[] {
  const errors: FieldError[] = [];
  if (isHeadless(spec)) return errors;
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    const family = parseIp(ip ?? "")?.family;
    if (family === undefined || i < (spec.ipFamilies ?? []).length) continue;
    if (offered.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family];
    else {
      const text = `${family} is not configured on this cluster`;
      errors.push(invalidField(`spec.clusterIPs[${i}]`, spec.clusterIPs, text));
    }
  }
  return errors;
}

function validateOffered(spec: ServiceSpec, offered: readonly IpFamily[]): FieldError[] {
  const errors: FieldError[] = [];
  if (spec.ipFamilyPolicy === "RequireDualStack" && offered.length < 2) {
    const text = "this cluster is not configured for dual-stack services";
    errors.push(invalidField("spec.ipFamilyPolicy", spec.ipFamilyPolicy, text));
  }
  for (const [i, family] of (spec.ipFamilies ?? []).entries()) {
    if (offered.includes(family as IpFamily)) continue;
    errors.push(invalidField(`spec.ipFamilies[${i}]`, family, "not configured on this cluster"));
  }
  return errors;
}

function addSecond(spec: ServiceSpec): void {
  if (spec.ipFamilyPolicy === "SingleStack" || spec.ipFamilies?.length !== 1) return;
  spec.ipFamilies.push(spec.ipFamilies[0] === "IPv4" ? "IPv6" : "IPv4");
}
