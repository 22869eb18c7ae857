import type { Node, Pod } from "@fjord/kube";

type Spec = NonNullable<Pod["spec"]>;

/** A node of two processors and 4 GiB, unless it is said otherwise. */
export function testNode(
  name: string,
  more: { labels?: Record<string, string>; spec?: Node["spec"]; allocatable?: Record<string, string> } = {},
): Node {
  const allocatable = { cpu: "2", memory: "4Gi", pods: "10", ...more.allocatable };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...more.labels } },
    ...(more.spec && { spec: more.spec }),
    status: {
      capacity: allocatable,
      allocatable,
      conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
    },
  } as Node;
}

export function testPod(
  name: string,
  spec: Partial<Spec> & { cpu?: string; labels?: Record<string, string>; namespace?: string } = {},
): Pod {
  const { cpu, labels, namespace = "default", ...rest } = spec;
  const resources = cpu === undefined ? {} : { requests: { cpu } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, labels: labels ?? { app: name } },
    spec: { containers: [{ name: "main", image: "busybox", resources }], ...rest },
  };
}
