import type { Place } from "@fjord/agent/move";
import type { AddressPlan, Contract } from "@fjord/api";
import { idOf, type KnownPlaces, siteOfNode } from "../../place/known-places.ts";

/** A site that gets pods of the test. */
export interface TestPlace {
  /** The site's id. */
  readonly id: string;
  readonly site: string;
  /** Of the pods there, and of the Service that only the one there answers for. */
  readonly name: string;
  readonly place: Place;
  readonly resources: TestResources;
  /** Pods there are processes, of the user that the node is. */
  readonly isProcess: boolean;
}

/** Amounts that a contract has pods state; limits only where it asks for them. */
export interface TestResources {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export interface TestPlaces {
  readonly places: readonly TestPlace[];
  /** By id of a site that pods cannot be brought to: why. */
  readonly lacks: ReadonlyMap<string, string>;
}

interface Own {
  readonly id: string;
  readonly name: string;
  readonly places: KnownPlaces;
  nameOf(id: string): string | undefined;
}

/** Enough for a shell and a small server. Limits are more than is asked for otherwise: who has used up a limit stands still. */
const REQUESTS = { cpu: "20m", memory: "32Mi", "ephemeral-storage": "16Mi" } as const;
const LIMITS = { cpu: "200m", memory: "64Mi", "ephemeral-storage": "16Mi" } as const;

/** Where pods are to be for every pair of sites: here, where this site has nodes, and at each provider. */
export function testPlaces(own: Own, plans: readonly AddressPlan[], hasNodes: boolean): TestPlaces {
  const isAnyProcess = plans.some(isProxied);
  const home: TestPlace[] = hasNodes
    ? [{ ...named(own.id, own.name), place: "home", resources: resourcesOf(undefined), isProcess: isAnyProcess }]
    : [];
  const lacks = new Map<string, string>(hasNodes ? [] : [[own.id, `${own.name} has no nodes of its own`]]);
  const away = plans.flatMap((plan): TestPlace[] => {
    const id = plan.spec.site;
    const site = own.nameOf(id) ?? id;
    const contract = contractWith(id, own.places);
    if (contract === undefined) {
      lacks.set(id, `${own.name} has no contract with ${site}, so no pods can be brought there: test it from there`);
      return [];
    }
    const resources = resourcesOf(contract);
    return [{ ...named(id, site), place: { site: id }, resources, isProcess: isProxied(plan) }];
  });
  return { places: withNamesOfTheirOwn([...home, ...away]), lacks };
}

function isProxied({ spec }: AddressPlan): boolean {
  return spec.carrier === "Proxy";
}

function contractWith(site: string, places: KnownPlaces): Contract | undefined {
  const node = places.virtualNodes.find(({ metadata }) => {
    const there = siteOfNode(places, metadata.name);
    return there !== undefined && idOf(there) === site;
  });
  return node && places.contracts.find(({ metadata }) => metadata.name === node.spec.contract);
}

function resourcesOf(contract: Contract | undefined): TestResources {
  const { resources, enforcement } = contract?.spec.terms ?? {
    resources: { cpu: "", memory: "" },
    enforcement: "None",
  };
  const pick = (amounts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(amounts).filter(([name]) => name in resources));
  return enforcement === "LimitsEqualRequests"
    ? { requests: pick(LIMITS), limits: pick(LIMITS) }
    : { requests: pick(REQUESTS) };
}

function named(id: string, site: string): Pick<TestPlace, "id" | "site" | "name"> {
  const text = site.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
  return { id, site, name: `at-${text}`.slice(0, 50).replace(/-+$/, "") };
}

/** Names of sites may differ in what names of Services do not have. */
function withNamesOfTheirOwn(places: readonly TestPlace[]): TestPlace[] {
  return places.map((place, index) =>
    places.findIndex(({ name }) => name === place.name) === index
      ? place
      : { ...place, name: `${place.name}-${index}` },
  );
}
