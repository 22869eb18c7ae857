import type { Pod } from "@fjord/kube";
import type { Container, PodSpec } from "../../environment/pod-containers.ts";
import type { PodFacts } from "../pod-volumes.ts";

/** A pod of one container `main` with these parts. */
export function testPod(spec: Partial<PodSpec> & { container?: Partial<Container> } = {}): Pod {
  const { container, ...rest } = spec;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "test", uid: "0a1b2c3d-0000-4000-8000-000000000001" },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox", ...container }], ...rest },
  };
}

/** A pod whose container mounts all of these volumes, each at its name below /mnt. */
export function podWithVolumes(volumes: NonNullable<PodSpec["volumes"]>, spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return testPod({ volumes, container: { volumeMounts }, ...spec });
}

export const testFacts: PodFacts = {
  podIPs: ["10.1.2.3", "fd00::3"],
  hostIPs: ["192.168.7.1"],
  allocatable: { cpu: 3500, memory: 8 * 2 ** 30, "ephemeral-storage": 2 ** 36 },
};
