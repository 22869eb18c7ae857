import { AddressPlan } from "@fjord/api";
import { type Cache, EndpointSlice, type Pod } from "@fjord/kube";
import type { LocalPod } from "@fjord/node/local-clients";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { SiteId } from "../../site-identity.ts";
import { parseCidrs } from "../ranges.ts";
import { calledHere } from "../translate.ts";
import type { Open, ToldPod } from "./carried-open.ts";
import { type CarriedParties, hasAddress, podTold, toldOf } from "./carried-parties.ts";
import type { Party } from "./carried-policy.ts";
import { type ServedAt, type SharedPod, sharedBy } from "./shared-endpoints.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";

export interface LedPeersOptions {
  readonly home: Pick<Home, "caches">;
  readonly shared: SharedNamespaces;
  readonly parties: CarriedParties;
}

/** Where a peer may be led, and as whom. */
export interface Led {
  readonly namespace: string;
  /** What stands in for the client here, where it is known: the server sees it. */
  readonly from?: string;
  /** The client as a pod that connections of this process are for. */
  readonly client?: LocalPod;
  /** What the peer is told of the server. */
  readonly server?: ToldPod;
  /** Whether it still may. */
  readonly isAllowed: () => boolean;
}

/** Decides of what peers ask for, by the own API: nothing that they name is believed but which of their own pods asks. */
export class LedPeers {
  readonly #options: LedPeersOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #slices: Cache<EndpointSlice>;

  constructor(options: LedPeersOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
    this.#slices = options.home.caches.open(EndpointSlice).cache;
  }

  /** Throws `PeerRefused`. */
  async lead(site: SiteId, open: Exclude<Open, string>, signal: AbortSignal): Promise<Led> {
    const found = await this.#find(site, open, signal);
    if (found === undefined) throw notShared();
    const { shared, parties } = this.#options;
    const { namespace, pod } = found;
    const client = await this.#clientOf(site, namespace, open.client, signal);
    const meeting = {
      namespace,
      port: { protocol: open.protocol, port: open.port },
      server: { address: open.address, pod },
      ...(client && { client }),
      // The consumer knows both ends, a provider its own guest.
      directions: parties.isTwin(namespace) ? (["Ingress"] as const) : (["Egress", "Ingress"] as const),
    };
    const refusal = parties.refusal(meeting);
    if (refusal !== undefined) throw refused(refusal.reason, refusal.what);
    const server = parties.isTwin(namespace) ? undefined : toldOf(pod);
    return {
      namespace,
      isAllowed: () => shared.with(site).has(namespace) && parties.refusal(meeting) === undefined,
      ...(server && { server }),
      ...(client && client.address !== "" && { from: client.address }),
      ...(client?.pod && { client: localOf(client.pod, client.address) }),
    };
  }

  async #find(site: SiteId, wanted: ServedAt, signal: AbortSignal): Promise<SharedPod | undefined> {
    const { shared, parties } = this.#options;
    const plan = this.#plans.get({ name: site })?.spec;
    const namespaces = shared.with(site);
    if (plan?.carrier !== "Proxy" || namespaces.size === 0) return undefined;
    const pods = await Promise.all([...namespaces].map((name) => parties.podsIn(name, signal)));
    return sharedBy(wanted, {
      namespaces,
      pods: pods.flat(),
      slices: this.#slices.list(),
      ranges: parseCidrs(plan.own.map(({ range }) => range)),
    });
  }

  /** A consumer tells of its own pods; of a guest a provider tells only where it is, and the own API who that is. */
  async #clientOf(
    site: SiteId,
    namespace: string,
    told: ToldPod | undefined,
    signal: AbortSignal,
  ): Promise<Party | undefined> {
    if (told === undefined) return undefined;
    const plan = this.#plans.get({ name: site })?.spec;
    const address = told.address === undefined || plan === undefined ? undefined : calledHere(plan, told.address);
    const { parties } = this.#options;
    if (parties.isTwin(namespace)) {
      if (told.namespace !== parties.originOf(namespace))
        throw refused("OtherNamespace", "the client is of another namespace");
      return { address: address ?? "", pod: podTold(told, namespace) };
    }
    if (address === undefined) return undefined;
    const pod = (await parties.podsIn(namespace, signal)).find((each) => hasAddress(each, address));
    return { address, ...(pod && { pod }) };
  }
}

function localOf({ metadata }: Pod, address: string): LocalPod {
  const { uid = "", namespace = "", name = "" } = metadata;
  return { uid, namespace, name, ...(address !== "" && { address }) };
}

export function refused(code: string, message: string): PeerRefused {
  return new PeerRefused({ code, message });
}

export function notShared(): PeerRefused {
  return refused("NotShared", "no pod of a namespace that the two sites share has that address and port");
}
