import type { Pod } from "@fjord/kube";
import { HostnameTooLong } from "../errors.ts";

const LONGEST_LABEL = 63;
/** What a Linux kernel takes. */
const LONGEST_HOSTNAME = 64;

/** The host name that a pod's processes see; empty on the host's network, where it is the machine's. */
export function hostnameOf(pod: Pod, clusterDomain: string): string {
  const { spec, metadata } = pod;
  if (spec?.hostnameOverride) return spec.hostnameOverride;
  if (spec?.hostNetwork) return "";
  const hostname = spec?.hostname || shorten(metadata.name ?? "");
  if (!spec?.setHostnameAsFQDN || !spec.subdomain) return hostname;
  const whole = `${hostname}.${spec.subdomain}.${metadata.namespace}.svc.${clusterDomain}`;
  if (whole.length > LONGEST_HOSTNAME) {
    throw new HostnameTooLong({ name: whole, max: LONGEST_HOSTNAME, length: whole.length });
  }
  return whole;
}

function shorten(name: string): string {
  return name.length <= LONGEST_LABEL ? name : name.slice(0, LONGEST_LABEL).replace(/[-.]+$/, "");
}
