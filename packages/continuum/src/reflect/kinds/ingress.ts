import { Ingress } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";
import { classAt } from "./remote-class.ts";

/** How the class was written before it had a field. */
const LEGACY_CLASS = "kubernetes.io/ingress.class";

/** Ingresses, of the class that the annotation names or of the provider's default one. */
export const ingresses: ReflectedKind<Ingress> = {
  kind: Ingress,
  policy: "DenyList",
  forge: (ingress) => content(ingress, classAt(ingress)),
  // A class that nobody asked for is the provider's choice.
  seen: (twin, { spec }) => content(twin, (spec as Ingress["spec"])?.ingressClassName && twin.spec?.ingressClassName),
  ownAnnotations: [LEGACY_CLASS],
};

function content({ spec = {} }: Ingress, ingressClassName: string | undefined): Body {
  const { rules, tls, defaultBackend } = spec;
  return {
    spec: {
      ...(defaultBackend && { defaultBackend }),
      ...(rules && { rules }),
      ...(tls && { tls }),
      ...(ingressClassName !== undefined && { ingressClassName }),
    },
  };
}
