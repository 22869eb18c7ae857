import type { Pod } from "@fjord/kube";
import type { TwinContext } from "../reflected-kind.ts";

/** A place for twins: namespace `shop` of `consumer`, at `provider`, behind the virtual node `wave`. */
export function contextOf(changes: Partial<TwinContext> = {}): TwinContext {
  return {
    consumer: "consumer",
    site: "provider",
    siteName: () => "harbor",
    namespace: "shop",
    isFirstSite: true,
    isNodeOfSite: (node) => node === "wave",
    guests: () => [],
    namespaces: () => [
      { name: "shop", labels: { team: "a" } },
      { name: "bank", labels: { team: "b" } },
    ],
    twinOf: (namespace) => (namespace === "shop" || namespace === "bank" ? `${namespace}-1` : undefined),
    translateAddress: (address) => address,
    translateBlock: (block) => [block],
    isReadyApart: () => false,
    families: () => undefined,
    podsElsewhere: () => [],
    ...changes,
  };
}

export function podOf(
  name: string,
  { labels = {}, ready = true }: { labels?: Record<string, string>; ready?: boolean } = {},
): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels },
    spec: { nodeName: "wave", containers: [] },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}
