import { PersistentVolumeClaim } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";
import { classAt } from "./remote-class.ts";

type Spec = NonNullable<PersistentVolumeClaim["spec"]>;

/**
 * Claims that pods at the site need, of the class that the annotation names or of the provider's default one. Once made they
 * stay until the original goes, because they hold data.
 */
export const persistentVolumeClaims: ReflectedKind<PersistentVolumeClaim> = {
  kind: PersistentVolumeClaim,
  policy: "Referenced",
  lasting: true,
  forge({ spec = {}, ...claim }) {
    const { accessModes, resources, volumeMode } = spec;
    const storageClassName = classAt({ ...claim, spec } as PersistentVolumeClaim);
    return {
      spec: {
        ...(accessModes && { accessModes }),
        ...(volumeMode && { volumeMode }),
        ...(storageClassName !== undefined && { storageClassName }),
        resources: { requests: resources?.requests ?? {} },
      },
    };
  },
  // Of a claim that is made, only the size can be changed.
  seen: ({ spec = {} }, { spec: wanted }): Body => ({
    spec: { ...(wanted as Spec), resources: { requests: spec.resources?.requests ?? {} } },
  }),
};
