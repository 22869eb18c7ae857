import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import type { Pod } from "@fjord/kube";
import { isCode } from "./file-errors.ts";

/** How a pod is called in its own /etc/hosts, and as its host name. */
export function hostNameOf(pod: Pod, clusterDomain: string): { name: string; domain: string } {
  const { hostname, subdomain, hostnameOverride } = pod.spec ?? {};
  if (hostnameOverride) return { name: shortened(hostnameOverride), domain: "" };
  const domain = subdomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : "";
  return { name: shortened(hostname || (pod.metadata.name ?? "")), domain };
}

/** As long as Linux allows. */
function shortened(name: string): string {
  return name.length <= 63 ? name : name.slice(0, 63).replace(/[-.]+$/, "");
}

/** The content of a pod's /etc/hosts; `machineHosts` is the machine's own, which pods on its network keep. */
export function hostsFile(pod: Pod, podIPs: readonly string[], clusterDomain: string, machineHosts: string): string {
  const aliases = hostAliases(pod);
  if (pod.spec?.hostNetwork) return `# Kubernetes-managed hosts file (host network).\n${machineHosts}${aliases}`;
  const { name, domain } = hostNameOf(pod, clusterDomain);
  const names = domain === "" ? name : `${name}.${domain}\t${name}`;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIPs.map((address) => `${address}\t${names}`),
  ];
  return `${lines.join("\n")}\n${aliases}`;
}

function hostAliases(pod: Pod): string {
  const aliases = pod.spec?.hostAliases ?? [];
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}

/** Writes it where it differs: containers hold on to the file that they were started with. */
export async function ensureHostsFile(path: string, content: string): Promise<void> {
  try {
    if ((await readFile(path, "utf8")) === content) return;
  } catch (error) {
    if (!isCode(error, "ENOENT")) throw error;
  }
  await writeFile(`${path}.new`, content);
  await chmod(`${path}.new`, 0o644);
  await rename(`${path}.new`, path);
}
