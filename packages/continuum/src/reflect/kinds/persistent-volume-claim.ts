import { PersistentVolumeClaim } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
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
  statusFrom: (twin, { status = {} }, { site, siteName }): Body => {
    const own = conditionOf(twin, site, siteName());
    return { ...status, conditions: [...(status.conditions ?? []).filter(({ type }) => type !== own.type), own] };
  },
  // Who is asked whether data would be lost goes by the condition.
  statusWithout({ status = {} }, { site }): Body | undefined {
    const conditions = status.conditions?.filter(({ type }) => type !== conditionType(site));
    return conditions && { ...status, conditions };
  },
};

function conditionType(site: SiteId): string {
  return `fjord.dev/${site}`;
}

/** A condition, and not the phase: that is the own cluster's to say, which knows nothing of the volume elsewhere. */
function conditionOf({ status }: PersistentVolumeClaim, site: SiteId, name: string) {
  const phase = phases.find((known) => known === status?.phase) ?? "Pending";
  const capacity: unknown = status?.capacity?.storage;
  const size = typeof capacity === "string" && /^[0-9.]{1,16}[A-Za-z]{0,2}$/.test(capacity) ? capacity : undefined;
  return {
    type: conditionType(site),
    status: phase === "Bound" ? "True" : "False",
    reason: phase,
    message: `the claim's twin at ${name} is ${phase}${size === undefined ? "" : `, of ${size}`}`,
  };
}

const phases = ["Pending", "Bound", "Lost"] as const;
