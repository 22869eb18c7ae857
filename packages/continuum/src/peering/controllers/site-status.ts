import type { ConditionOf, Site, StatusOf } from "@fjord/api";
import { type NewCondition, setCondition } from "@fjord/kube";
import { checkedResources } from "../../market/index.ts";
import type { PublishedFacts, Resources } from "../../protocol.ts";
import { rulesCondition } from "../../reflection-rules.ts";
import type { Reachability, RemoteSite } from "../../remote-site.ts";
import type { PeerIdentity } from "../../site-identity.ts";

type SiteCondition = ConditionOf<typeof Site>;
export type SiteStatus = StatusOf<typeof Site>;

/** What the own Site says of itself. */
export function ownStatus(
  site: Site,
  { identity, namespace }: { readonly identity: PeerIdentity; readonly namespace: string },
  published: PublishedFacts,
  shared: { shared: Resources; free: Resources } | undefined,
  now: number,
): SiteStatus {
  const { id, publicKey } = identity;
  const { reflection = [] } = site.spec;
  const rules = rulesCondition("spec.reflection", reflection, reflection, site.status?.conditions);
  const conditions = withConditions(site, now, [
    { type: "Ready", status: "True", reason: "Serving", message: "the agent runs" },
    { type: "Reachable", status: "True", reason: "Self", message: "" },
    ...(rules ? [rules] : []),
  ]);
  // What is shared no longer is taken away, which a merge patch does by null.
  const nothing = { shared: null, free: null } as unknown as SiteStatus;
  const amounts = shared ?? (site.status?.shared === undefined ? {} : nothing);
  return { ...site.status, id, publicKey, role: "Self", agentNamespace: namespace, published, ...amounts, conditions };
}

/** What is known of a peer: whether it answers, and what it says of itself, as far as that makes sense. */
export function peerStatus(
  site: Site,
  remote: RemoteSite | undefined,
  ownVersion: string | undefined,
  now: number,
  isCordoned = false,
): SiteStatus {
  const { reachability, report } = remote ?? {};
  const strange = versionProblem(ownVersion, report?.published.version);
  const wanted = reachability === undefined ? [] : reachConditions(reachability, strange);
  const conditions = withConditions(site, now, [...wanted, ...cordonCondition(site, isCordoned)]);
  return {
    ...site.status,
    role: "Peer",
    ...(report && { id: report.id, published: sanePublished(report.published) }),
    ...(report?.publicKey !== undefined && { publicKey: report.publicKey }),
    ...(report?.shared && amountsIn("shared", report.shared)),
    ...(report?.free && amountsIn("free", report.free)),
    ...(reachability?.reachable && { reachableSince: toSecond(reachability.since) }),
    conditions,
  };
}

/** Of a site whose contracts nobody ever closed there is nothing to say. */
function cordonCondition(site: Site, isCordoned: boolean): NewCondition<SiteCondition>[] {
  if (isCordoned) {
    const message = `it is given no contract and takes no new pods here until \`fjord uncordon ${site.metadata.name}\``;
    return [{ type: "Cordoned", status: "True", reason: "ContractsClosed", message }];
  }
  const known = site.status?.conditions?.some(({ type }) => type === "Cordoned") ?? false;
  return known ? [{ type: "Cordoned", status: "False", reason: "ContractsOpen", message: "" }] : [];
}

/** Why a site cannot be used, where there is more to say than that it does not answer. */
const UNUSABLE: Partial<Record<Reachability["reason"], "IdentityMismatch" | "NotPaired" | "NoEndpoint">> = {
  NoEndpoint: "NoEndpoint",
  WrongKey: "IdentityMismatch",
  NotPaired: "NotPaired",
};

function reachConditions(
  { reachable, reason, message }: Reachability,
  strange: string | undefined,
): NewCondition<SiteCondition>[] {
  const reach = { type: "Reachable", status: reachable ? "True" : "False", reason, message: short(message) } as const;
  if (reachable && strange !== undefined)
    return [reach, { type: "Ready", status: "False", reason: "VersionUnsupported", message: short(strange) }];
  if (reachable) return [reach, { type: "Ready", status: "True", reason: "Reachable", message: "" }];
  return [
    reach,
    { type: "Ready", status: "False", reason: UNUSABLE[reason] ?? "Unreachable", message: short(message) },
  ];
}

/** Versions understand each other within one minor; what is no version is not judged. */
export function versionProblem(own: string | undefined, other: string | undefined): string | undefined {
  const [a, b] = [own, other].map((text) =>
    /^v?(\d+)\.(\d+)\./
      .exec(text ?? "")
      ?.slice(1)
      .map(Number),
  );
  if (a === undefined || b === undefined) return undefined;
  const isNear = a[0] === b[0] && Math.abs((a[1] ?? 0) - (b[1] ?? 0)) <= 1;
  return isNear ? undefined : `its agent is ${other} and this one ${own}: bring them within one minor of each other`;
}

function withConditions(site: Site, now: number, wanted: NewCondition<SiteCondition>[]): SiteCondition[] {
  const observedGeneration = site.metadata.generation ?? 0;
  return wanted.reduce<SiteCondition[]>(
    (conditions, each) => setCondition<SiteCondition>(conditions, { ...each, observedGeneration }, now).conditions,
    site.status?.conditions ?? [],
  );
}

const labelKey = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** What a peer publishes, without whatever the own API would refuse, so that one odd field hides no other. */
export function sanePublished(given: PublishedFacts): PublishedFacts {
  const { name, tier, location, properties, version, kubernetesVersion } = given ?? {};
  const { architectures, operatingSystems, loopbackRanges } = given ?? {};
  return {
    ...text("name", name, 63),
    ...((tier === "cloud" || tier === "edge" || tier === "device") && { tier }),
    ...(isObject(location) && { location: saneLocation(location) }),
    ...(isObject(properties) && { properties: saneLabels(properties) }),
    ...texts("architectures", architectures),
    ...texts("operatingSystems", operatingSystems),
    ...texts("loopbackRanges", loopbackRanges),
    ...text("version", version, 64),
    ...text("kubernetesVersion", kubernetesVersion, 64),
  };
}

function saneLocation(given: NonNullable<PublishedFacts["location"]>): NonNullable<PublishedFacts["location"]> {
  const { region, zone, latitude, longitude } = given;
  const isDegrees = (value: unknown, most: number) => typeof value === "number" && Math.abs(value) <= most;
  return {
    ...(typeof region === "string" && dnsLabel.test(region) && { region }),
    ...(typeof zone === "string" && dnsLabel.test(zone) && { zone }),
    ...(isDegrees(latitude, 90) && isDegrees(longitude, 180) && { latitude, longitude }),
  } as NonNullable<PublishedFacts["location"]>;
}

function saneLabels(given: Record<string, unknown>): Record<string, string> {
  const isLabel = (entry: [string, unknown]): entry is [string, string] =>
    labelKey.test(entry[0]) && typeof entry[1] === "string" && labelValue.test(entry[1]);
  return Object.fromEntries(Object.entries(given).filter(isLabel).slice(0, 64));
}

function text<Name extends string>(name: Name, value: unknown, most: number): Partial<Record<Name, string>> {
  if (typeof value !== "string" || value === "" || value.length > most || !value.isWellFormed()) return {};
  return { [name]: value } as Partial<Record<Name, string>>;
}

function texts<Name extends string>(name: Name, value: unknown): Partial<Record<Name, string[]>> {
  if (!Array.isArray(value)) return {};
  const kept = value.filter((each): each is string => typeof each === "string" && /^[\w./-]{1,32}$/.test(each));
  return { [name]: [...new Set(kept)].slice(0, 16) } as Partial<Record<Name, string[]>>;
}

function amountsIn<Name extends "shared" | "free">(name: Name, value: Resources): Partial<Record<Name, Resources>> {
  try {
    return { [name]: checkedResources(value) } as Partial<Record<Name, Resources>>;
  } catch {
    // What is no amount is not shown.
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function short(message: string): string {
  return message.slice(0, 1024).toWellFormed();
}

function toSecond(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
