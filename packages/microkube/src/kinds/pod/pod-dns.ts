import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { validateIp } from "../values/ip-address.ts";
import { dnsSubdomainWithUnderscore } from "../values/name.ts";
import type { PodSpec } from "./pod-spec.ts";

export function validateDns({ dnsConfig, dnsPolicy }: PodSpec, path: string): FieldError[] {
  const nameservers = (dnsConfig?.nameservers ?? []).map((one) => one ?? "");
  const searches = (dnsConfig?.searches ?? []).map((one) => one ?? "");
  if (dnsPolicy === "None") {
    if (dnsConfig === undefined) return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")];
    if (nameservers.length === 0) {
      const text = "must provide at least one DNS nameserver when `dnsPolicy` is None";
      return [required(`${path}.nameservers`, text)];
    }
  }
  const errors: FieldError[] = [];
  if (nameservers.length > 3) {
    errors.push(invalidField(`${path}.nameservers`, nameservers, "must not have more than 3 nameservers"));
  }
  errors.push(...nameservers.flatMap((ip, i) => validateIp(ip, `${path}.nameservers[${i}]`)));
  if (searches.length > 32) {
    errors.push(invalidField(`${path}.searches`, searches, "must not have more than 32 search paths"));
  }
  if (searches.join(" ").length > 2048) {
    const text = "must not have more than 2048 characters (including spaces) in the search list";
    errors.push(invalidField(`${path}.searches`, searches, text));
  }
  for (const [i, search] of searches.entries()) {
    if (search === ".") continue;
    const name = search.endsWith(".") ? search.slice(0, -1) : search;
    const texts = dnsSubdomainWithUnderscore(name);
    errors.push(...texts.map((text) => invalidField(`${path}.searches[${i}]`, name, text)));
  }
  for (const [i, option] of (dnsConfig?.options ?? []).entries()) {
    if (!option.name) errors.push(required(`${path}.options[${i}]`, "must not be empty"));
  }
  return errors;
}
