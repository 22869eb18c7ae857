import { isIPv6 } from "node:net";
import type { Service } from "@fjord/kube";

/**
 * The variables by which containers find services: those of `kubernetes` always, those of the pod's own namespace where
 * the pod has service links.
 */
export function serviceVariables(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): Map<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    const { name = "", namespace: home } = service.metadata;
    if (!hasAddress(service)) continue;
    if (home === "default" && name === "kubernetes") {
      if (!chosen.has(name)) chosen.set(name, service);
    } else if (home === namespace && enableServiceLinks) chosen.set(name, service);
  }
  const variables = new Map<string, string>();
  for (const name of [...chosen.keys()].sort()) addVariables(variables, name, chosen.get(name) as Service);
  return variables;
}

function hasAddress(service: Service): boolean {
  const address = service.spec?.clusterIP;
  return address !== undefined && address !== "" && address !== "None" && (service.spec?.ports?.length ?? 0) > 0;
}

function addVariables(variables: Map<string, string>, name: string, service: Service): void {
  const prefix = variableName(name);
  const address = service.spec?.clusterIP ?? "";
  const ports = service.spec?.ports ?? [];
  variables.set(`${prefix}_SERVICE_HOST`, address);
  variables.set(`${prefix}_SERVICE_PORT`, String(ports[0]?.port));
  for (const port of ports) {
    if (port.name) variables.set(`${prefix}_SERVICE_PORT_${variableName(port.name)}`, String(port.port));
  }
  for (const [index, { port, protocol = "TCP" }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${isIPv6(address) ? `[${address}]` : address}:${port}`;
    const base = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) variables.set(`${prefix}_PORT`, url);
    variables.set(base, url);
    variables.set(`${base}_PROTO`, scheme);
    variables.set(`${base}_PORT`, String(port));
    variables.set(`${base}_ADDR`, address);
  }
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
