import type { Pod } from "@fjord/kube";

/** A port of the machine that a pod takes. */
export interface HostPort {
  readonly protocol: string;
  /** Empty: all addresses. */
  readonly address: string;
  readonly port: number;
}

export function hostPortsOf(pod: Pod): HostPort[] {
  const { initContainers = [], containers = [], hostNetwork } = pod.spec ?? {};
  const lasting = [...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always"), ...containers];
  return lasting
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ hostPort, containerPort, protocol = "TCP", hostIP = "" }) => {
      const port = hostPort || (hostNetwork ? containerPort : 0);
      return port === 0 ? [] : [{ protocol, address: hostIP === "0.0.0.0" || hostIP === "::" ? "" : hostIP, port }];
    });
}

export function conflicts(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.address === "" || b.address === "" || a.address === b.address;
}
