import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import { sameMeaning } from "../values/equality.ts";
import { parseIp, validateIp } from "../values/ip-address.ts";
import { isHeadless, needsAddress, type ServiceSpec } from "./service-shape.ts";

const families = ["IPv4", "IPv6"];
const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const path = "spec.clusterIPs";

export function validateClusterIps(spec: ServiceSpec): FieldError[] {
  if (!needsAddress(spec)) return [];
  const { clusterIP = "", ipFamilies = [], ipFamilyPolicy } = spec;
  const addresses = (spec.clusterIPs ?? []).map((ip) => ip ?? "");
  const errors: FieldError[] = [];
  if (clusterIP !== "") {
    if (addresses.length === 0) errors.push(required(path));
    else if (addresses[0] !== clusterIP) {
      errors.push(invalidField(path, addresses, "first value must match `clusterIP`"));
    }
  } else if (addresses.length > 0) {
    errors.push(invalidField(path, addresses, "must be empty when `clusterIP` is not specified"));
  }
  for (const [i, family = ""] of ipFamilies.entries()) {
    if (!families.includes(family)) errors.push(notSupported(`spec.ipFamilies[${i}]`, family, families));
    if (ipFamilies.indexOf(family) < i) errors.push(duplicate(`spec.ipFamilies[${i}]`, family));
  }
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy)) {
    errors.push(notSupported("spec.ipFamilyPolicy", ipFamilyPolicy, policies));
  }
  const wrong = validateAddresses(addresses);
  errors.push(...wrong);
  if (addresses.length > 2) errors.push(invalidField(path, addresses, "may only hold up to 2 values"));
  if (wrong.length > 0) return errors;
  const found = addresses.map((ip) => parseIp(ip)?.family);
  if (addresses.length > 1 && new Set(found).size !== 2) {
    errors.push(invalidField(path, addresses, "may specify no more than one IP for each IP family"));
  }
  if (isHeadless(spec)) return errors;
  for (const [i, family] of found.entries()) {
    const wanted = ipFamilies[i];
    if (wanted === undefined || family === wanted || !families.includes(wanted)) continue;
    const text = `expected an ${wanted} value as indicated by \`ipFamilies[${i}]\``;
    errors.push(invalidField(`${path}[${i}]`, addresses[i], text));
  }
  return errors;
}

function validateAddresses(addresses: readonly string[]): FieldError[] {
  if (addresses[0] !== "None") return addresses.flatMap((ip, i) => validateIp(ip, `${path}[${i}]`));
  if (addresses.length === 1) return [];
  return [invalidField(path, addresses, "'None' must be the first and only value")];
}

/** What is given stays: an address is in other people's configuration. */
export function validateClusterIpChange(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  if (!needsAddress(spec) || !needsAddress(before)) return [];
  if (isHeadless(spec) && isHeadless(before)) return [];
  return [...validateKeptAddresses(spec, before), ...validateKeptFamilies(spec, before)];
}

function validateKeptAddresses(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  const now = spec.clusterIPs ?? [];
  const old = before.clusterIPs ?? [];
  const changed = (i: number) => invalidField(`${path}[${i}]`, now, "may not change once set");
  if (now.length === old.length) return old.flatMap((ip, i) => (ip === now[i] ? [] : [changed(i)]));
  const errors: FieldError[] = [];
  if (now.length === 0) errors.push(invalidField(`${path}[0]`, now, "primary clusterIP can not be unset"));
  else if (old.length > 0 && now[0] !== old[0]) errors.push(changed(0));
  if (now.length === 1 && old.length > 1 && spec.ipFamilyPolicy !== "SingleStack") {
    const text = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(invalidField("spec.ipFamilyPolicy", spec.ipFamilyPolicy, text));
  }
  return errors;
}

function validateKeptFamilies(spec: ServiceSpec, before: ServiceSpec): FieldError[] {
  if (isHeadless(spec) !== isHeadless(before)) return [];
  const now = spec.ipFamilies ?? [];
  const old = before.ipFamilies ?? [];
  const at = "spec.ipFamilies[0]";
  if (now.length === old.length) {
    return sameMeaning(now, old) ? [] : [invalidField(at, now, "may not change once set")];
  }
  const errors: FieldError[] = [];
  if (now.length > 0 && old.length > 0 && now[0] !== old[0]) {
    errors.push(invalidField(at, spec.clusterIPs, "may not change once set"));
  }
  if (now.length === 1 && old.length > 1 && spec.ipFamilyPolicy !== "SingleStack") {
    const text = "must be set to 'SingleStack' when releasing the secondary ipFamily";
    errors.push(invalidField("spec.ipFamilyPolicy", spec.ipFamilyPolicy, text));
  }
  return errors;
}
