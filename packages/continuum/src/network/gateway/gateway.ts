import type { Clock, Logger } from "@fjord/base";
import type { DeniedPackets } from "../fabric/denied-packets.ts";
import { InvalidNetworkState } from "../fabric/errors.ts";
import { type Fabric, fabricOf, isNested } from "../fabric/fabric.ts";
import { LINK_ROUTES, routesOf } from "../fabric/route-change.ts";
import { publicHalf } from "../link-key.ts";
import type { NetworkState } from "../network-state.ts";
import { BoundedFlows } from "./bounded-flows.ts";
import { HiddenFlows, type KeptRanges } from "./hidden-flows.ts";
import { LaneInterfaces } from "./lane-interfaces.ts";
import { type LinkReport, withRoute } from "./link-report.ts";
import { NodeFirewall } from "./node-firewall.ts";
import type { NodeNetwork } from "./node-network.ts";
import type { Answering } from "./path-choice.ts";
import type { PeerPathsOptions } from "./peer-paths.ts";
import { RouteTable } from "./route-table.ts";
import { Serial } from "./serial.ts";
import type { WireguardCarrier, WireguardChoice } from "./wireguard-devices.ts";

export interface GatewayOptions {
  readonly network: NodeNetwork;
  /** @default "fjord" */
  readonly interfacePrefix?: string;
  /** @default "auto" */
  readonly wireguard?: WireguardChoice;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup?: PeerPathsOptions["lookup"];
}

/**
 * Brings a node's interfaces, firewall and routes to what a state asks for. After the first time it changes only what has changed; `check`
 * looks at everything. It keeps nothing that the node could not give back, so that another process may go on at any moment.
 */
export class Gateway {
  readonly #prefix: string;
  readonly #logger: Logger;
  readonly #firewall: NodeFirewall;
  readonly #flows: BoundedFlows;
  readonly #interfaces: LaneInterfaces;
  readonly #routes: RouteTable;
  readonly #hiddenFlows: HiddenFlows;
  /** Whether a peer can be behind a hub. */
  readonly #canNest: boolean;
  /** What peers do not know, nor pods of this node, which may be theirs: the first key that this process has taken. */
  #secret: string | undefined;
  readonly #serial = new Serial();
  #applied:
    | {
        readonly fabric: Fabric;
        readonly privateKey: string;
        readonly ownKey: string;
        readonly carrier: WireguardCarrier;
      }
    | undefined;
  /** What this node carries, also while it is changed. */
  #carried: Fabric | undefined;

  constructor(options: GatewayOptions) {
    const { network, interfacePrefix = "fjord", wireguard = "auto", logger } = options;
    this.#prefix = interfacePrefix;
    this.#logger = logger;
    this.#firewall = new NodeFirewall(network);
    this.#flows = new BoundedFlows({ network, logger });
    this.#interfaces = new LaneInterfaces({ ...options, prefix: interfacePrefix, wireguard });
    this.#routes = new RouteTable(network, LINK_ROUTES);
    this.#hiddenFlows = new HiddenFlows({ network, logger });
    this.#canNest = wireguard !== "kernel";
  }

  /**
   * Does beforehand what takes time, as a node that takes the place of another one is waited for: finds out what encrypts, and makes the interfaces of the lanes that
   * `state` says are carried. They know no key and nobody, and nothing leads into them. Those of an earlier state that are not used go.
   */
  async prepare(state?: NetworkState): Promise<void> {
    await this.#serial.run(async () => {
      await this.#interfaces.choose(false);
      const lanes = state && fabricOf({ ...state, peers: [], exports: [] }, { interfacePrefix: this.#prefix });
      await this.#interfaces.prepare(lanes);
    });
  }

  /** Applies a state; `privateKey` is the site's of WireGuard, in base64. Refuses what cannot be, and has then changed nothing. */
  apply(state: NetworkState, privateKey: string): Promise<void> {
    return this.#serial.run(() => this.#apply(state, privateKey));
  }

  /** The private key that is in use here, in base64: also where another process has applied it. Undefined where none is. */
  async usedKey(): Promise<string | undefined> {
    if (this.#applied !== undefined) return this.#applied.privateKey;
    const key = await this.#serial.run(() => this.#interfaces.keyThere());
    return key === undefined ? undefined : Buffer.from(key, "hex").toString("base64");
  }

  /** Uses another private key from now on. `say` is called before: what goes out afterwards waits until peers have a session by the new one. */
  turnKey(privateKey: string, say: () => Promise<void>): Promise<void> {
    return this.#serial.run(async () => {
      const applied = this.#applied;
      if (applied === undefined) return;
      this.#applied = undefined;
      await say();
      await this.#interfaces.turn(applied.fabric, hexOf(privateKey));
      this.#applied = { ...applied, privateKey, ownKey: publicHalf(privateKey) };
    });
  }

  /** A peer asks over a lane whether it may take a key, in hexadecimal. Whether that is known. */
  peerAsks(siteId: string, lane: number, key: string): Promise<boolean> {
    return this.#serial.run(async () => {
      const fabric = this.#applied?.fabric;
      return fabric !== undefined && (await this.#interfaces.arm(fabric, siteId, lane, key));
    });
  }

  /** A peer says over a lane that it takes a key now. */
  peerTurns(siteId: string, lane: number, key: string): Promise<void> {
    return this.#serial.run(async () => {
      const fabric = this.#applied?.fabric;
      if (fabric !== undefined) await this.#interfaces.turned(fabric, siteId, lane, key);
    });
  }

  async #apply(state: NetworkState, privateKey: string): Promise<void> {
    const carrier = await this.#interfaces.choose(isNested(state));
    const isKnown = this.#applied?.privateKey === privateKey && this.#applied.carrier === carrier;
    const before = isKnown ? this.#applied?.fabric : undefined;
    if (Buffer.from(privateKey, "base64").length !== 32)
      throw new InvalidNetworkState({ reason: "the private key is not one of WireGuard" });
    this.#secret ??= privateKey;
    const options = { interfacePrefix: this.#prefix, canNest: this.#canNest, secret: this.#secret };
    const fabric = fabricOf(state, options, before);
    // Until it is done nobody knows what is there: who tries again begins anew.
    this.#applied = undefined;
    if (before === undefined || !sameInterfaces(before, fabric)) {
      const remote = await this.#applyWhole(fabric, privateKey);
      this.#forgetFlows(
        { own: before?.own ?? fabric.own, remote },
        { own: fabric.own, remote: rangesOf(fabric.peers) },
      );
    } else await this.#applyChange(before, fabric);
    this.#applied = { fabric, privateKey, ownKey: publicHalf(privateKey), carrier };
    this.#carried = fabric;
  }

  /** Looks whether everything is as it was left, and puts back what is not. Resolves with what was not, in words. */
  check(): Promise<string[]> {
    return this.#serial.run(() => this.#check());
  }

  async #check(): Promise<string[]> {
    if (this.#applied === undefined) return [];
    const { fabric, privateKey } = this.#applied;
    const drift = [
      ...(await this.#firewall.drift(fabric)),
      ...(await this.#flows.drift()),
      ...(await this.#routes.drift(routesOf(fabric), fabric.lanes)),
      ...(await this.#interfaces.drift(fabric)),
    ];
    if (drift.length > 0) {
      this.#logger.warn("the node's network was changed by others, and is put back", { drift: drift.slice(0, 5) });
      await this.#applyWhole(fabric, privateKey);
      await this.#hiddenFlows.forget(fabric.own, rangesOf(fabric.peers));
    }
    return drift;
  }

  /**
   * Seeks peers that are silent by other ways, or at their next endpoint, whose name may lead elsewhere by now, and tells how links are.
   * `answers` says how often a site is asked over a lane of its link, where it answers.
   */
  tend(answers: (siteId: string, lane: number) => Answering = () => "often"): Promise<LinkReport[]> {
    return this.#serial.run(() => this.#tend(answers));
  }

  async #tend(answers: (siteId: string, lane: number) => Answering): Promise<LinkReport[]> {
    if (this.#applied === undefined) return [];
    const { fabric, ownKey } = this.#applied;
    const faults = [...fabric.faults].map(([siteId, fault]) => ({ siteId, fault, receivedBytes: 0, sentBytes: 0 }));
    const reports = await this.#interfaces.tend(fabric, answers);
    await this.#firewall.see();
    return [...faults, ...reports].map((report) => ({ ...withRoute(report, fabric), ownKey }));
  }

  /** What the firewall has dropped since this process brought it, as of the last `check`. */
  get denied(): DeniedPackets {
    return { ...this.#firewall.denied, beyond: this.#flows.refused };
  }

  /** A peer says over its link that it tries the direct way now: of two behind NATs both have to. Whether this end does so too. */
  invited(siteId: string): boolean {
    const checked = this.#applied?.fabric.peers.get(siteId)?.checked;
    return checked !== undefined && this.#interfaces.invited(checked);
  }

  /** The interfaces that packets of a peer take here, and its ranges as they are called here; undefined where it has no link on this node. */
  linkOf(siteId: string): { readonly interfaces: readonly string[]; readonly ranges: readonly string[] } | undefined {
    const peer = this.#carried?.peers.get(siteId);
    return peer && { interfaces: this.#carried?.interfaces.map(({ name }) => name) ?? [], ranges: peer.ranges };
  }

  /** The node has lost an address: peers are to be sent to from another one. */
  moved(): Promise<void> {
    return this.#serial.run(async () => {
      if (this.#applied !== undefined) await this.#interfaces.moved(this.#applied.fabric);
    });
  }

  /** From now on nothing is taken as known: the next `apply` looks at everything. */
  forget(): void {
    this.#applied = undefined;
  }

  /** Takes everything away that a gateway has made, whoever has run it. */
  remove(): Promise<void> {
    return this.#serial.run(() => this.#remove());
  }

  async #remove(): Promise<void> {
    this.#applied = undefined;
    this.#carried = undefined;
    // Where another node carries the links now, the way to that one is to be taken at once.
    await this.#routes.remove();
    await this.#interfaces.remove();
    await this.#firewall.remove();
    await this.#flows.remove();
  }

  /** Resolves with the ranges that were led to links before. */
  async #applyWhole(fabric: Fabric, privateKey: string): Promise<string[]> {
    await this.#firewall.bring(fabric);
    await this.#flows.bring(
      fabric.interfaces.map(({ name }) => name),
      fabric.peers.size,
    );
    await this.#interfaces.bring(fabric, hexOf(privateKey));
    return await this.#routes.bring(routesOf(fabric), fabric.lanes);
  }

  async #applyChange(before: Fabric, after: Fabric): Promise<void> {
    await this.#firewall.change(before, after);
    await this.#flows.share(after.peers.size);
    const [gone, come] = [changedPeers(before, after), changedPeers(after, before)];
    await this.#interfaces.change(before, after, gone, come);
    await this.#routes.change(routesOf({ ...after, peers: gone }), routesOf({ ...after, peers: come }));
    this.#forgetFlows({ own: before.own, remote: rangesOf(gone) }, { own: after.own, remote: rangesOf(come) });
  }

  /** Nobody waits for it: it takes a while, and says by itself what fails. */
  #forgetFlows(before: KeptRanges, after: KeptRanges): void {
    void this.#hiddenFlows.forgetEarlier(before, after);
  }
}

function hexOf(key: string): string {
  return Buffer.from(key, "base64").toString("hex");
}

function sameInterfaces(a: Fabric, b: Fabric): boolean {
  return (
    a.mtu === b.mtu &&
    a.lanes === b.lanes &&
    a.relayAddress === b.relayAddress &&
    JSON.stringify(a.interfaces) === JSON.stringify(b.interfaces)
  );
}

function rangesOf(peers: Fabric["peers"]): string[] {
  return [...peers.values()].flatMap(({ ranges }) => ranges);
}

/** Of the peers of `from` those that `to` has not, or has otherwise. */
function changedPeers(from: Fabric, to: Fabric): Fabric["peers"] {
  return new Map(from.peers.entries().filter(([siteId, peer]) => to.peers.get(siteId) !== peer));
}
