import type { AddressPlan, Import } from "@fjord/api";
import type { NewCondition } from "@fjord/kube";
import type { FoundImport, ImportStatus } from "./import-forge.ts";
import { calledThere } from "./translate.ts";

type Told = NewCondition<Extract<NonNullable<ImportStatus["conditions"]>[number], { type: "ReachedByGuests" }>>;

/** A site where the namespace has a twin. */
export interface GuestSite {
  readonly name: string;
  /** What the two call each other; absent where they have no link. */
  readonly plan?: AddressPlan["spec"];
}

/** Whether an Import works where the namespace's guests are; undefined where there are none, or nothing is imported. */
export function reachedByGuests(object: Import, found: FoundImport, sites: readonly GuestSite[]): Told | undefined {
  if (sites.length === 0 || found.ports.length === 0) return undefined;
  const { own, reason } = found;
  const told = (why: Told["reason"], message: string): Told => ({
    type: "ReachedByGuests",
    status: why === "Reached" ? "True" : "False",
    reason: why,
    message,
  });
  if (own === undefined) {
    const { site } = object.spec;
    return told("HomeOnly", `pods at ${listed(sites)} do not reach it: ${site} exports it to this site, not to them`);
  }
  if (!object.spec.service || reason !== "Imported")
    return told("NoService", `pods at ${listed(sites)} do not reach it: they would by its Service, which there is not`);
  const apart = sites.filter(
    ({ plan }) => plan === undefined || own.addresses.some((address) => calledThere(plan, address) === undefined),
  );
  if (apart.length === 0) return told("Reached", "");
  const linkless = apart.filter(({ plan }) => plan === undefined);
  if (linkless.length > 0)
    return told("NotLinked", `pods at ${listed(linkless)} do not reach it: there is no link with that site`);
  return told("NotLinked", `pods at ${listed(apart)} do not reach it: that site has no name for it yet`);
}

function listed(sites: readonly GuestSite[]): string {
  return sites
    .map(({ name }) => name)
    .sort()
    .join(", ");
}
