import { fieldsOf } from "../../fields-of.ts";

export interface EphemeralClaim {
  /** Of the pod, by its name. */
  readonly volume: string;
  /** What the claim is to be made of. */
  readonly template: unknown;
}

/** Of volumes of a pod. One with a longer name is refused by the API. */
const LONGEST_NAME = 63;

/** The claims that come and go with the pod of a shadow pod. */
export function shadowClaims(shadow: unknown): EphemeralClaim[] {
  return ephemeralClaims(fieldsOf(fieldsOf(shadow).spec).pod);
}

/** The claims that come and go with a pod. */
export function ephemeralClaims(pod: unknown): EphemeralClaim[] {
  const { volumes } = fieldsOf(fieldsOf(pod).spec);
  return (Array.isArray(volumes) ? volumes : []).flatMap((each: unknown) => {
    const { name, ephemeral } = fieldsOf(each);
    const template = fieldsOf(ephemeral).volumeClaimTemplate;
    return template === undefined ? [] : [{ volume: String(name).slice(0, LONGEST_NAME), template }];
  });
}

/** Of the claim that Kubernetes makes for a pod, which has the name of its shadow pod. */
export function ephemeralClaimName(pod: string, volume: string): string {
  return `${pod}-${volume}`;
}
