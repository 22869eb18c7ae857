import type { AddressPlan } from "@fjord/api";
import { didYouMean } from "@fjord/base";
import { NoSuchThing } from "../errors.ts";

/** Plans in the order of their sites' names; of some sites alone, where these are named. */
export function plansWith(
  names: readonly string[],
  plans: readonly AddressPlan[],
  nameOf: (id: string) => string,
): AddressPlan[] {
  const all = plans
    .map((plan) => ({ plan, name: nameOf(plan.spec.site) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const missing = names.find((name) => !all.some((each) => each.name === name));
  if (missing !== undefined) {
    const hint = didYouMean(
      missing,
      all.map(({ name }) => name),
    );
    throw new NoSuchThing({ what: "link with a site", name: missing, hint });
  }
  return all.filter(({ name }) => names.length === 0 || names.includes(name)).map(({ plan }) => plan);
}
