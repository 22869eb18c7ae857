import { fieldsOf } from "../../fields-of.ts";

export interface EphemeralClaim {
  /** Of the claim that Kubernetes makes for the pod. */
  readonly name: string;
  /** What it is to be made of. */
  readonly template: unknown;
}

/** The claims that come and go with the pod of a shadow pod: it has its name. */
export function ephemeralClaims(shadow: unknown): EphemeralClaim[] {
  const { metadata, spec } = fieldsOf(shadow);
  const { volumes } = fieldsOf(fieldsOf(fieldsOf(spec).pod).spec);
  return (Array.isArray(volumes) ? volumes : []).flatMap((volume: unknown) => {
    const { name, ephemeral } = fieldsOf(volume);
    const template = fieldsOf(ephemeral).volumeClaimTemplate;
    return template === undefined ? [] : [{ name: `${fieldsOf(metadata).name}-${name}`, template }];
  });
}
