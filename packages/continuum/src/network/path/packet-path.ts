import type { AddressPlan } from "@fjord/api";
import { planReason } from "../address-plan.ts";
import { MACHINE_ADDRESSES } from "../link-address.ts";
import { calledThere, meantThere } from "../translate.ts";
import { exportHop } from "./export-hop.ts";
import { adviceFor, type BareHop, isExported, linkHop, permission, renamed, type Side } from "./gateway-hops.ts";
import { isMachine, withHomeWord } from "./home-word.ts";
import { meetingPath } from "./meeting-path.ts";
import { hopWithoutLink, LINK_ADVICE } from "./no-link.ts";
import type { Hop, PacketPath, PathEnd, SiteView } from "./path.ts";
import { type PolicyDirection, policyAnswer } from "./policy-hop.ts";
import { knownAt, proxyPath, proxyPathThrough } from "./proxy-path.ts";

/** Every place that a packet comes to between two ends, by what the objects of one site, or of both, say. */
export function packetPath(here: SiteView, there: SiteView | undefined, from: PathEnd, to: PathEnd): PacketPath {
  const names = { from: from.title, to: to.title };
  const answer = (hops: readonly Hop[], advice: readonly string[] = []): PacketPath => ({
    ...names,
    hops: withHomeWord(hops, to, (site) => nameOf(here, site)),
    verdict: hops.some(({ verdict }) => verdict === "Dropped")
      ? "Dropped"
      : hops.some(({ verdict }) => verdict === "Unknown")
        ? "Unknown"
        : "Delivered",
    advice,
  });
  const packet = { source: from.address, destination: to.address };
  const sends: Hop = { ...siteOf(here, from), at: "pod", what: "sends", ...packet, verdict: "Passes" };
  const dropped = (hop: Omit<Hop, "source" | "destination" | "verdict">, ...advice: string[]) =>
    answer([sends, { ...hop, ...packet, verdict: "Dropped" }], advice);
  const ofMachine = machinePath(here, there, from, to, answer);
  if (ofMachine !== undefined) return ofMachine;
  if (to.site === undefined || from.site === undefined) {
    const stray = from.site === undefined ? from : to;
    const what = `${stray.address} is no address of a site that has a link with this one: no link carries it`;
    return answer([sends, { site: here.name, at: "network", what, ...packet, verdict: "Unknown" }]);
  }
  if (from.site !== here.id && isExported(here.plans, to.site, to.address) && to.site !== here.id) {
    const site = nameOf(here, to.site);
    const what = `${to.address} stands for an export of ${site} to ${here.name}: pods that run at ${here.name} reach it, and nobody does at ${nameOf(here, from.site)}, where it has no such address`;
    return dropped({ ...siteOf(here, from), at: "network", what }, HOME_ONLY_ADVICE);
  }
  if (from.site === to.site) return answer([sends, ...stays(here, from, to, askedOf(here, there))]);
  const sites = [from.site, to.site];
  const plan = here.plans.find(({ spec }) => sites.includes(spec.site));
  if (plan === undefined) return answer([sends, ...withoutLink(here, from, to)], [LINK_ADVICE]);
  const named = { from: nameOf(here, from.site), to: nameOf(here, to.site), asked: askedOf(here, there) };
  const planOf = (site: string) => here.plans.find(({ spec }) => spec.site === site && spec.carrier === "Proxy");
  const [one, other] = [planOf(from.site), planOf(to.site)];
  if (one !== undefined && other !== undefined) {
    const { hops, advice } = proxyPathThrough(here, { from: one, to: other }, from, to, named);
    return answer(hops, advice);
  }
  if (plan.spec.carrier === "Proxy" && sites.includes(here.id)) {
    const { hops, advice } = proxyPath(here, plan, from, to, named);
    return answer(hops, advice);
  }
  for (const end of [from, to])
    if (end.pod?.spec?.hostNetwork === true && from.site !== to.site)
      return dropped(
        {
          ...siteOf(here, end),
          at: "network",
          what: `${end.title} is on the network of its node, has no address of its own, and is in no group`,
        },
        "give the pod an address of its own (hostNetwork: false)",
      );
  if (!sites.includes(here.id)) {
    const place = (end: PathEnd, name: string) => ({
      name,
      plan: here.plans.find(({ spec }) => spec.site === end.site),
      end,
    });
    const { hops, advice } = meetingPath(here, there, place(from, named.from), place(to, named.to));
    return answer(hops, advice);
  }
  return across(here, there, plan, from, to, answer);
}

const HOME_ONLY_ADVICE =
  "guests reach what their home exports itself: let an Export there, which names that site, have it, where its gateway reaches it; or keep pods that need it at home (condition ReachedByGuests of the Import)";

/** A machine of this site goes out by the address that stands for all of them; nobody reaches one. Undefined where neither end is such a one. */
function machinePath(
  here: SiteView,
  there: SiteView | undefined,
  from: PathEnd,
  to: PathEnd,
  answer: (hops: readonly Hop[], advice?: readonly string[]) => PacketPath,
): PacketPath | undefined {
  const [machine, other] = from.site === undefined ? [from, to] : [to, from];
  const plan = here.plans.find(({ spec }) => spec.site === other.site && spec.carrier !== "Proxy");
  const link = here.links.find(({ spec }) => spec.site === other.site);
  if (machine.site !== undefined || plan === undefined || !isMachine(link?.spec.machines ?? [], machine.address))
    return undefined;
  const rule = "Site, spec.network.machines";
  const packet = { source: from.address, destination: to.address };
  if (machine === to) {
    const what = `${to.address} is a machine of ${here.name}: machines reach pods over links, and nobody reaches them`;
    return answer([{ site: here.name, at: "network", what, rule, ...packet, verdict: "Dropped" }]);
  }
  const address = MACHINE_ADDRESSES[from.address.includes(":") ? 6 : 4];
  return across(here, there, plan, { ...from, site: here.id, address }, to, (hops, advice) =>
    answer(
      [
        { site: here.name, at: "network", what: "a machine of the site sends", rule, ...packet, verdict: "Passes" },
        {
          site: here.name,
          at: "gateway",
          what: `source ${from.address} becomes ${address}, which stands for all machines`,
          rule,
          source: address,
          destination: to.address,
          verdict: "Passes",
        },
        ...hops.slice(1),
      ],
      advice,
    ),
  );
}

function across(
  here: SiteView,
  there: SiteView | undefined,
  plan: AddressPlan,
  from: PathEnd,
  to: PathEnd,
  answer: (hops: readonly Hop[], advice?: readonly string[]) => PacketPath,
): PacketPath {
  const peer = plan.spec.site;
  const isOutward = from.site === here.id;
  const [own, others] = isOutward ? [from, to] : [to, from];
  const start = { source: from.address, destination: to.address };
  const sends: Hop = { site: nameOf(here, from.site), at: "pod", what: "sends", ...start, verdict: "Passes" };
  const reason = planReason(plan.spec);
  const [ownCalled, othersReal] = [calledThere(plan.spec, own.address), meantThere(plan.spec, others.address)];
  const nameless = ownCalled === undefined ? own : othersReal === undefined ? others : undefined;
  if (ownCalled === undefined || othersReal === undefined) {
    const what =
      reason === "NamesKnown"
        ? `${nameless?.address} has no name: it is in none of the ranges that the two have told each other`
        : `the two do not know each other's names yet (${reason})`;
    const hop: Hop = { site: here.name, at: "network", what, rule: planTitle(plan), ...start, verdict: "Dropped" };
    return answer([sends, hop], ["`fjord network status` says how far the plan is, and what is missing"]);
  }
  const mine: Side = {
    site: here.name,
    view: here,
    ...found(
      "link",
      here.links.find(({ spec }) => spec.site === peer),
    ),
    end: own,
    ...found("pod", own.pod),
    ...found("other", others.pod),
    real: own.address,
    otherCalled: others.address,
  };
  const theirs: Side = {
    site: nameOf(here, peer),
    ...found("view", there),
    ...found(
      "link",
      there?.links.find(({ spec }) => spec.site === here.id),
    ),
    end: others,
    ...found("pod", others.there),
    ...found("other", own.there),
    real: othersReal,
    otherCalled: ownCalled,
  };
  const [sender, receiver] = isOutward ? [mine, theirs] : [theirs, mine];
  const hops: Hop[] = [];
  const advice: string[] = [];
  let packet = { source: sender.real, destination: sender.otherCalled };
  /** False where the packet ends there. */
  const pass = (hop: BareHop | undefined, ...ifDropped: string[]): boolean => {
    if (hop === undefined) return true;
    hops.push({ ...hop, ...packet });
    if (hop.verdict === "Dropped") advice.push(...ifDropped);
    return hop.verdict !== "Dropped";
  };
  const end = () => answer(hops, advice);
  pass({ site: sender.site, at: "pod", what: "sends", verdict: "Passes" });
  /** What only its API knows of a guest, the twins of the policies here say too. */
  const policyOf = (direction: PolicyDirection, side: Side) =>
    side.view === undefined && others.pod !== undefined
      ? twinPolicyHop(direction, side.site, sideHere(here, others, own))
      : policyHop(direction, side);
  if (!pass(policyOf("Egress", sender), "let a NetworkPolicy of its namespace allow it")) return end();
  if (!pass(permission(sender, receiver), ...adviceFor(sender, receiver))) return end();
  packet = { ...packet, source: receiver.otherCalled };
  pass(renamed(sender.site, "source", sender.real, receiver.otherCalled, isOutward ? plan.spec.own : plan.spec.peer));
  if (
    !pass(
      linkHop(mine.link ?? theirs.link, mine.link === undefined ? theirs.view : here),
      "`fjord network status` tells why it is down",
    )
  )
    return end();
  packet = { ...packet, destination: receiver.real };
  pass(
    renamed(
      receiver.site,
      "destination",
      sender.otherCalled,
      receiver.real,
      isOutward ? plan.spec.peer : plan.spec.own,
    ),
  );
  if (!pass(permission(receiver, sender), ...adviceFor(receiver, sender))) return end();
  const led = exportHop(receiver.site, receiver.view?.exports, receiver.real);
  if (led !== undefined) {
    pass(led, `an Export at ${receiver.site} that names ${sender.site} lets it pass`);
    return end();
  }
  if (!pass(policyOf("Ingress", receiver), "let a NetworkPolicy of its namespace allow it")) return end();
  pass({ site: receiver.site, at: "pod", what: `receives, and answers ${packet.source}`, verdict: "Passes" });
  return end();
}

/** Between two sites that Fjord has not joined: this one's policies are known, and no more. */
function withoutLink(here: SiteView, from: PathEnd, to: PathEnd): Hop[] {
  const names = { from: nameOf(here, from.site), to: nameOf(here, to.site) };
  const own = (end: PathEnd, other: PathEnd, direction: PolicyDirection) =>
    end.site === here.id ? policyHop(direction, sideHere(here, end, other)) : undefined;
  return upToDrop(from, to, [own(from, to, "Egress"), hopWithoutLink(here, from, to, names), own(to, from, "Ingress")]);
}

/** The hops that a packet comes to, which stays as it is. */
function upToDrop(from: PathEnd, to: PathEnd, all: readonly (BareHop | undefined)[]): Hop[] {
  const packet = { source: from.address, destination: to.address };
  const hops = all.flatMap((hop) => (hop === undefined ? [] : [{ ...hop, ...packet }]));
  const last = hops.findIndex(({ verdict }) => verdict === "Dropped");
  return last < 0 ? hops : hops.slice(0, last + 1);
}

/** An end at the site that is asked, which calls it what it is. */
function sideHere(here: SiteView, end: PathEnd, other: PathEnd): Side {
  return {
    site: here.name,
    view: here,
    end,
    ...found("pod", end.pod),
    ...found("other", other.pod),
    real: end.address,
    otherCalled: other.address,
  };
}

/** Both at one site: no link has to do with it. */
function stays(here: SiteView, from: PathEnd, to: PathEnd, asked: string | undefined): Hop[] {
  const packet = { source: from.address, destination: to.address };
  const site = nameOf(here, from.site);
  if (from.site !== here.id) {
    // What a consumer's agent calls others, it also calls guests of its elsewhere.
    const isCarried = here.plans.some(({ spec }) => spec.site === from.site && spec.carrier === "Proxy");
    const what = isCarried
      ? `both are ${site}'s, there or at sites that it uses, and nothing of them is known here: ${knownAt(site, asked)}`
      : "both are there: its own network carries it";
    return [{ site, at: "network", what, ...packet, verdict: "Unknown" }];
  }
  return upToDrop(from, to, [
    policyHop("Egress", sideHere(here, from, to)),
    { site, at: "network", what: "both are here: the pods' network carries it, without a link", verdict: "Passes" },
    policyHop("Ingress", sideHere(here, to, from)),
    { site, at: "pod", what: `receives, and answers ${packet.source}`, verdict: "Passes" },
  ]);
}

function policyHop(direction: PolicyDirection, side: Side): BareHop | undefined {
  const { view, pod, other, site, otherCalled } = side;
  if (view === undefined || pod === undefined) return undefined;
  const answer = policyAnswer({
    direction,
    pod,
    other: { address: otherCalled, ...found("pod", other) },
    policies: view.policies,
    namespaces: view.namespaces,
  });
  return answer && { site, at: "policy", ...answer };
}

function twinPolicyHop(direction: PolicyDirection, site: string, guest: Side): BareHop | undefined {
  const hop = policyHop(direction, guest);
  return hop && { ...hop, site, ...(hop.rule !== undefined && { rule: `twin of ${hop.rule}` }) };
}

/** What the site is called here whose API was asked too. */
function askedOf(here: SiteView, there: SiteView | undefined): string | undefined {
  return there && nameOf(here, there.id);
}

function planTitle({ metadata }: AddressPlan): string {
  return `AddressPlan ${metadata.name}`;
}

function nameOf(here: SiteView, id: string | undefined): string {
  return id === here.id ? here.name : (here.nameOf(id) ?? id ?? "elsewhere");
}

function siteOf(here: SiteView, { site }: PathEnd): { site?: string } {
  return site === undefined ? {} : { site: nameOf(here, site) };
}

function found<Key extends string, Value>(key: Key, value: Value | undefined): { readonly [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value };
}
