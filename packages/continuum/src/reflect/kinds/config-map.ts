import { ConfigMap } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";

/** What every cluster gives its own namespaces, and what Fjord does. */
const everywhere = ["kube-root-ca.crt", "fjord-home-root-ca.crt"];

/** ConfigMaps that pods at the site need. */
export const configMaps: ReflectedKind<ConfigMap> = {
  kind: ConfigMap,
  policy: "Referenced",
  forge: content,
  seen: content,
  neverLeaves: ({ metadata }) => everywhere.includes(metadata.name ?? ""),
};

function content({ data, binaryData, immutable }: ConfigMap): Body {
  return { data: data ?? {}, binaryData: binaryData ?? {}, ...(immutable && { immutable }) };
}
