// Objects that tests of reflection apply by kubectl.

const v1 = { apiVersion: "v1" };

export function service(name: string, spec: object = {}): object {
  const all = { selector: { app: name }, ports: [{ name: "http", port: 80 }], ...spec };
  return { ...v1, kind: "Service", metadata: { name, labels: { app: name } }, spec: all };
}

export function configMap(name: string, { annotations, data }: { annotations?: object; data?: object } = {}): object {
  return { ...v1, kind: "ConfigMap", metadata: { name, annotations }, data: data ?? { key: name } };
}

export function secret(name: string): object {
  return { ...v1, kind: "Secret", metadata: { name }, stringData: { key: name } };
}

export function pod(name: string, container: object = {}, labels: object = {}, spec: object = {}): object {
  const containers = [{ name: "main", image: "registry.example/main:1", ...container }];
  return {
    ...v1,
    kind: "Pod",
    metadata: { name, labels },
    spec: { containers, terminationGracePeriodSeconds: 1, ...spec },
  };
}

/** Boats go out, buoys come in. */
export function boatDefinitions(): object[] {
  return ["Boat", "Buoy"].map((kind) => {
    const singular = kind.toLowerCase();
    const plural = `${singular}s`;
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const openAPIV3Schema = { type: "object", properties: { spec: open, status: open } };
    const version = {
      name: "v1",
      served: true,
      storage: true,
      schema: { openAPIV3Schema },
      subresources: { status: {} },
    };
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.reflect.example.com` },
      spec: {
        group: "reflect.example.com",
        scope: "Namespaced",
        names: { kind, plural, singular },
        versions: [version],
      },
    };
  });
}

/** Gives the agent what it is to reflect. */
export function boatRole(): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "reflected-boats", labels: { "fjord.dev/aggregate-to-agent": "true" } },
    rules: [{ apiGroups: ["reflect.example.com"], resources: ["boats", "buoys", "boats/status"], verbs: ["*"] }],
  };
}
