import { Secret } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";

/** Types that are a cluster's or a tool's own: keys to the home API, tokens of joining nodes, records of releases. */
const own = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "helm.sh/release.v1"];

/** Secrets that pods at the site need. */
export const secrets: ReflectedKind<Secret> = {
  kind: Secret,
  policy: "Referenced",
  forge: content,
  seen: content,
  neverLeaves: ({ type = "" }) => own.includes(type),
  ownAnnotations: ["kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"],
};

function content({ data, type, immutable }: Secret): Body {
  return { data: data ?? {}, type: type ?? "Opaque", ...(immutable && { immutable }) };
}
