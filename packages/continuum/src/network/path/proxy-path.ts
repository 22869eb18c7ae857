import type { AddressPlan } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import { planReason } from "../address-plan.ts";
import { meantThere } from "../translate.ts";
import type { BareHop } from "./gateway-hops.ts";
import type { Hop, PathEnd, SiteView } from "./path.ts";

/**
 * The way of a connection that the agents carry, between pods that are processes of their machines. `names` are what the sites of the two
 * ends are called here.
 */
export function proxyPath(
  here: SiteView,
  { metadata, spec, status }: AddressPlan,
  from: PathEnd,
  to: PathEnd,
  names: { readonly from: string; readonly to: string },
): { readonly hops: readonly Hop[]; readonly advice: readonly string[] } {
  const rule = `AddressPlan ${metadata.name}`;
  const isOutward = from.site === here.id;
  const meant = isOutward ? meantThere(spec, to.address) : to.address;
  const standIn = isOutward
    ? to.address
    : spec.own.length > 0 && planReason(spec) === "NamesKnown"
      ? "its stand-in there"
      : undefined;
  const hops: Hop[] = [];
  const advice: string[] = [];
  let packet = { source: from.address, destination: to.address };
  const pass = (hop: BareHop, ...ifDropped: string[]): boolean => {
    hops.push({ ...hop, ...packet });
    if (hop.verdict === "Dropped") advice.push(...ifDropped);
    return hop.verdict !== "Dropped";
  };
  const end = () => ({ hops, advice });
  pass({ site: names.from, at: "pod", what: "connects, by TCP: nothing else is carried", verdict: "Passes" });
  if (meant === undefined || standIn === undefined) {
    const what = `nobody stands in for it: the two do not know each other's names (${planReason(spec)})`;
    pass(
      { site: names.from, at: "agent", what, rule, verdict: "Dropped" },
      "`fjord network status` says what is missing",
    );
    return end();
  }
  const peer = isOutward ? to : from;
  // Whether this one is among them is known to the agent alone.
  const someHaveNone = isOutward && getCondition(status?.conditions, "StandInsComplete")?.status === "False";
  pass({
    site: names.from,
    at: "agent",
    what: someHaveNone
      ? `stands in for some endpoints of ${names.to} only, as there are too many: maybe not for ${meant}`
      : `stands in for ${meant} of ${names.to}, at ports that Services of shared namespaces lead to`,
    rule,
    verdict: someHaveNone ? "Unknown" : "Passes",
  });
  if (someHaveNone)
    advice.push(
      `let fewer endpoints of ${names.to} be in shared namespaces: fjord_carried_without_stand_in counts them`,
    );
  const isThere = here.reachable?.(peer.site ?? "");
  const connection: BareHop =
    isThere === false
      ? {
          at: "link",
          what: "the peer does not answer: nobody stands in for its pods until it does",
          verdict: "Dropped",
        }
      : {
          at: "link",
          what: "one TLS connection between the agents, by the keys of both sites",
          verdict: isThere === undefined ? "Unknown" : "Passes",
        };
  if (!pass(connection, "`fjord sites` tells since when, and why")) return end();
  packet = { ...packet, destination: meant };
  const namespace = to.pod?.metadata.namespace;
  if (to.pod?.spec?.hostNetwork === true) {
    const what = `${to.title} is on the network of its node, and has no address of its own`;
    pass(
      { site: names.to, at: "agent", what, verdict: "Dropped" },
      "give the pod an address of its own (hostNetwork: false)",
    );
    return end();
  }
  // What this site's API has at the peer was offloaded there; and so was the namespace of whoever asks from there.
  const isShared = namespace !== undefined && (isOutward || from.pod?.metadata.namespace === namespace);
  pass(
    isShared
      ? {
          site: names.to,
          at: "agent",
          what: `leads there: namespace ${namespace} is shared by the two`,
          verdict: "Passes",
        }
      : {
          site: names.to,
          at: "agent",
          what: "leads there where its namespace is shared by the two",
          verdict: "Unknown",
        },
  );
  pass({ site: names.to, at: "pod", what: "takes the connection, which comes from the agent", verdict: "Passes" });
  return end();
}

/** Between pods at two peers, which meet through this site's own stand-ins. */
export function proxyPathThrough(
  here: SiteView,
  plan: AddressPlan,
  from: PathEnd,
  to: PathEnd,
  names: { readonly from: string; readonly to: string },
): { readonly hops: readonly Hop[]; readonly advice: readonly string[] } {
  const packet = { source: from.address, destination: to.address };
  const pass = (hop: BareHop): Hop => ({ ...hop, ...packet });
  const hops = [
    pass({ site: names.from, at: "pod", what: "connects, by TCP: nothing else is carried", verdict: "Passes" }),
    pass({ site: names.from, at: "agent", what: `stands in for what ${here.name} calls so`, verdict: "Passes" }),
  ];
  if (here.reachable?.(from.site ?? "") === false) {
    const what = `${names.from} does not answer: nothing is led from there until it does`;
    return { hops: [...hops, pass({ at: "link", what, verdict: "Dropped" })], advice: ["`fjord sites` tells why"] };
  }
  const namespace = to.pod?.metadata.namespace;
  const isShared = namespace !== undefined && from.pod?.metadata.namespace === namespace;
  const leads: BareHop = isShared
    ? {
        site: here.name,
        at: "agent",
        what: `leads there: namespace ${namespace} is shared with both`,
        verdict: "Passes",
      }
    : { site: here.name, at: "agent", what: "leads there where its namespace is shared with both", verdict: "Unknown" };
  const onwards = proxyPath(here, plan, { ...from, site: here.id }, to, { ...names, from: here.name });
  return { hops: [...hops, pass(leads), ...onwards.hops.slice(1)], advice: onwards.advice };
}
