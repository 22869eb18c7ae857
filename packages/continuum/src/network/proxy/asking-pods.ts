import type { LocalPod } from "@fjord/node/local-clients";
import type { ToldPod } from "./carried-open.ts";
import { type CarriedParties, hasAddress, partyOf, podTold, toldOf } from "./carried-parties.ts";
import { refused } from "./led-peers.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";
import type { StandIn } from "./stand-in-plan.ts";

/** What may be asked of a peer for a pod here. */
export interface Asking {
  /** What the peer is told of the client. */
  readonly client?: ToldPod;
  /** To be asked once the peer has told who the server is. Throws `PeerRefused`. */
  readonly check: (server: ToldPod | undefined) => void;
  /** Whether it still may. */
  readonly isAllowed: () => boolean;
}

/** Decides of what pods here ask of peers, by stand-ins for their pods. */
export class AskingPods {
  readonly #parties: CarriedParties;
  readonly #shared: SharedNamespaces;

  constructor({ parties, shared }: { readonly parties: CarriedParties; readonly shared: SharedNamespaces }) {
    this.#parties = parties;
    this.#shared = shared;
  }

  /** Throws `PeerRefused`, though nobody has asked the peer: as over links, only pods of one namespace meet. */
  async ask(standIn: StandIn, local: LocalPod | undefined, signal: AbortSignal): Promise<Asking> {
    const { namespace, site, protocol, port, address } = standIn;
    if (local !== undefined && local.namespace !== namespace)
      throw refused("OtherNamespace", `${local.namespace}/${local.name} is of another namespace`);
    const pods = await this.#parties.podsIn(namespace, signal);
    const client = partyOf(pods, local);
    const isTwin = this.#parties.isTwin(namespace);
    const known = isTwin ? undefined : pods.find((pod) => hasAddress(pod, address));
    let server = { address, ...(known && { pod: known }) };
    const refusal = () =>
      this.#parties.refusal({
        namespace,
        port: { protocol, port },
        server,
        ...(client && { client }),
        // The consumer knows both ends. A provider judges its guest, once it is told whom that would reach.
        directions: isTwin ? ["Egress"] : ["Egress", "Ingress"],
      });
    const check = () => {
      const found = refusal();
      if (found !== undefined) throw refused(found.reason, found.what);
    };
    if (!isTwin || client === undefined) check();
    const told = client?.pod && toldOf(client.pod, client.address || undefined);
    return {
      ...(told && { client: told }),
      check: (toldServer) => {
        if (!isTwin) return;
        server = { address, ...(toldServer && { pod: podTold(toldServer, namespace) }) };
        check();
      },
      isAllowed: () => this.#shared.with(site).has(namespace) && refusal() === undefined,
    };
  }
}
