import type { KubeObject } from "@fjord/base";
import { clusterConfig, KubeClient } from "@fjord/kube";
import type { FaultServer } from "@fjord/testbed/fault-server";

/** The fault server is read as an API is; what is written goes to its store. */
export function writable(server: FaultServer): KubeClient {
  const client = new KubeClient(clusterConfig({ server: server.url }));
  const find = (kind: { plural: string }, name: string) =>
    server.list(kind as never).find(({ metadata }: KubeObject) => metadata.name === name) as KubeObject & {
      spec: object;
    };
  const writes = {
    create: async (kind: never, object: never) => server.create(kind, object),
    patch: async (kind: never, { name }: { name: string }, type: string, patch: never) => {
      const found = find(kind, name);
      const changed =
        type === "merge"
          ? { ...found, ...(patch as object) }
          : {
              ...found,
              spec: (patch as { path: string; value: object }[]).find(({ path }) => path === "/spec")?.value,
            };
      return server.update(kind, changed as never);
    },
    delete: async (kind: never, { name }: { name: string }) => server.delete(kind, { name }),
  };
  return new Proxy(client, {
    get: (target, property) => {
      if (property in writes) return writes[property as keyof typeof writes];
      const value = Reflect.get(target, property, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
