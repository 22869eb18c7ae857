import { Peering, Site, VirtualNode } from "@fjord/api";
import {
  addFinalizer,
  againAfter,
  type Cache,
  type Controller,
  compareResourceVersions,
  done,
  generationChanged,
  getCondition,
  isAlreadyExists,
  isBeingDeleted,
  owns,
  type Result,
  type Runnable,
  sameContent,
  watches,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { homeController } from "../../home-controller.ts";
import type { ConsumerContracts, ContractStore, Negotiation } from "../../market/index.ts";
import type { ContractReport } from "../../protocol.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { type Agreed, Agreement } from "./agreement.ts";
import { Pairing, type Redeem } from "./pairing.ts";
import { PeeringEnd } from "./peering-end.ts";
import { type Answer, notPaired, type Outlook, peeringStatus } from "./peering-status.ts";
import { belongsTo, forgeVirtualNode, virtualNodeName } from "./virtual-node-forge.ts";

export const PEERING_FINALIZER = "fjord.dev/peering";
const FIELD_MANAGER = "fjord-peering";

export interface PeeringControllerOptions {
  readonly home: Home;
  readonly sites: RemoteSites;
  readonly store: ContractStore;
  readonly negotiation: Negotiation;
  readonly contracts: ConsumerContracts;
  /** Redeems a pairing token, and makes the Site of whoever issued it. */
  readonly redeem: Redeem;
}

/** Brings Peerings to life at the consumer: pairs, agrees, makes the virtual node, and takes all of it back. */
export class PeeringController implements Runnable {
  readonly name = "peerings";
  readonly needsLeaderElection = true;
  readonly #options: PeeringControllerOptions;
  readonly #controller: Controller;
  readonly #peerings: Cache<Peering>;
  readonly #nodes: Cache<VirtualNode>;
  readonly #pairing: Pairing;
  readonly #agreement: Agreement;
  readonly #end: PeeringEnd;
  readonly #written = new Map<string, Peering>();

  constructor(options: PeeringControllerOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#peerings = caches.open(Peering).cache;
    this.#nodes = caches.open(VirtualNode).cache;
    const knownSites = caches.open(Site).cache;
    this.#pairing = new Pairing({ home: options.home, sites: options.sites, knownSites, redeem: options.redeem });
    this.#agreement = new Agreement(options);
    this.#end = new PeeringEnd({ ...options, agreement: this.#agreement });
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [
        watches(this.#peerings, { when: generationChanged }),
        watches(this.#peerings, { when: (change) => change.type === "update" && isBeingDeleted(change.object) }),
        owns(this.#nodes, Peering),
        watches(knownSites, { map: (site) => this.#withSite(site.metadata.name ?? ""), when: generationChanged }),
      ],
      concurrency: 8,
      waitsOn: ({ name }) => name,
      backoff: { initial: 50, max: 5_000 },
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const { sites, store } = this.#options;
    const unsubscribe = [
      sites.onChange((id) => this.#siteChanged(id)),
      store.onChange(({ metadata }) => this.#ownerChanged(metadata.ownerReferences?.[0]?.name)),
    ];
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of unsubscribe) each();
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Result> {
    const { client } = this.#options.home;
    const found = this.#newest(name);
    if (found === undefined) return done();
    if (isBeingDeleted(found)) return await this.#end.bringAbout(found, PEERING_FINALIZER, signal);
    const peering = await addFinalizer(client, Peering, found, PEERING_FINALIZER, { signal });
    const { outlook, againMs } = await this.#bringAbout(peering, signal);
    await this.#say(peering, outlook, signal);
    return againMs === undefined ? done() : againAfter(againMs);
  }

  async #bringAbout(peering: Peering, signal: AbortSignal): Promise<{ outlook: Outlook; againMs?: number }> {
    const paired = await this.#pairing.pair(peering, false, signal);
    if (paired.site === undefined) return { outlook: notPaired(paired.answer), againMs: paired.againMs ?? 30_000 };
    let agreed = await this.#agreement.keep(peering, paired.site, signal);
    if (agreed.stranger && agreed.contract === undefined && peering.spec.pairingSecret !== undefined) {
      const again = await this.#pairing.pair(peering, true, signal);
      if (again.site === undefined) return { outlook: notPaired(again.answer), againMs: again.againMs ?? 30_000 };
      agreed = await this.#agreement.keep(peering, again.site, signal);
    }
    const outlook = await this.#realise(peering, paired.site, paired.answer, agreed, signal);
    return { outlook, ...(agreed.againMs !== undefined && { againMs: agreed.againMs }) };
  }

  async #realise(
    peering: Peering,
    site: RemoteSite,
    paired: Answer<"Paired">,
    agreed: Agreed,
    signal: AbortSignal,
  ): Promise<Outlook> {
    const known = { paired, siteId: site.id, ...(agreed.newest !== undefined && { contract: agreed.newest }) };
    const { contract } = agreed;
    if (contract === undefined) {
      const ready: Answer<"Ready"> = { reason: agreed.silent ? "SiteUnreachable" : "NotAgreed" };
      return { ...known, agreed: agreed.answer, realised: { reason: "NotAgreed" }, ready };
    }
    const node = await this.#ensureNode(peering, forgeVirtualNode(peering, contract), signal);
    if (node === undefined) {
      const message = `a VirtualNode named ${virtualNodeName(peering)} exists and is not this Peering's`;
      return {
        ...known,
        agreed: agreed.answer,
        realised: { reason: "NodeNameTaken", message },
        ready: { reason: "NotRealised" },
      };
    }
    const report = agreed.report ?? site.report?.contracts.find(({ id }) => id === contract.spec.terms.id);
    const realised = realisedBy(node, report);
    const ready = readyBy(node, realised, site);
    return { ...known, agreed: agreed.answer, realised, ready, virtualNode: node.metadata.name ?? "" };
  }

  /** The Peering's VirtualNode as it is to be; undefined where somebody else has one of that name. */
  async #ensureNode(peering: Peering, wanted: VirtualNode, signal: AbortSignal): Promise<VirtualNode | undefined> {
    const { client } = this.#options.home;
    const key = { name: wanted.metadata.name ?? "" };
    let node = this.#nodes.get(key);
    if (node === undefined) {
      try {
        return await client.create(VirtualNode, wanted, { fieldManager: FIELD_MANAGER, signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        node = await client.get(VirtualNode, key, { signal });
      }
    }
    if (!belongsTo(node, peering)) return undefined;
    if (isBeingDeleted(node) || sameContent(node.spec, wanted.spec)) return node;
    const patch = [
      { op: "test", path: "/metadata/uid", value: node.metadata.uid },
      { op: "replace", path: "/spec", value: wanted.spec },
    ];
    return await client.patch<VirtualNode>(VirtualNode, key, "json", patch, { fieldManager: FIELD_MANAGER, signal });
  }

  async #say(peering: Peering, outlook: Outlook, signal: AbortSignal): Promise<void> {
    const { client, clock, recorder } = this.#options.home;
    const name = peering.metadata.name ?? "";
    const status = peeringStatus(peering, outlook, clock.now());
    if (sameContent(status, peering.status)) return;
    const before = getCondition(peering.status?.conditions, "Agreed")?.reason;
    const { reason, message = "" } = outlook.agreed;
    if (before !== reason && ["NotSharing", "ConsumerRefused", "AmountRefused", "ContractEnded"].includes(reason)) {
      recorder.event(peering, { type: "Warning", reason, message });
    }
    const written = await client.patch(Peering, { name }, "merge", { status }, { subresource: "status", signal });
    this.#written.set(name, written);
  }

  /** The Peering as the cache has it, or as it was last written here, where the cache has not heard of that yet. */
  #newest(name: string): Peering | undefined {
    const cached = this.#peerings.get({ name });
    const written = this.#written.get(name);
    if (cached === undefined || written === undefined) {
      this.#written.delete(name);
      return cached;
    }
    const { uid, resourceVersion = "" } = cached.metadata;
    const order = compareResourceVersions(resourceVersion, written.metadata.resourceVersion ?? "");
    return uid === written.metadata.uid && order !== undefined && order < 0 ? written : cached;
  }

  #withSite(site: string): { name: string }[] {
    return this.#peerings
      .list()
      .filter(({ spec }) => spec.site === site)
      .map(({ metadata }) => ({ name: metadata.name ?? "" }));
  }

  #siteChanged(id: SiteId): void {
    for (const { metadata, status, spec } of this.#peerings.list()) {
      const isOf = status?.siteId === undefined || status.siteId === id;
      if (isOf && spec.site) this.#controller.enqueue({ name: metadata.name ?? "" });
    }
  }

  #ownerChanged(name: string | undefined): void {
    if (name !== undefined && this.#peerings.get({ name }) !== undefined) this.#controller.enqueue({ name });
  }
}

function realisedBy(node: VirtualNode, report: ContractReport | undefined): Answer<"Realised"> {
  const ready = getCondition(node.status?.conditions, "Ready");
  if (ready?.reason === "NodeNameTaken") return { reason: "NodeNameTaken", message: ready.message };
  return report?.tenantReady === false ? { reason: "AwaitingTenant" } : { reason: "NodeMade" };
}

function readyBy(node: VirtualNode, realised: Answer<"Realised">, site: RemoteSite): Answer<"Ready"> {
  if (realised.reason !== "NodeMade") return { reason: "NotRealised" };
  const ready = getCondition(node.status?.conditions, "Ready");
  if (ready?.status === "True") return { reason: "InService" };
  const message = ready?.message ?? "the virtual node does not say yet that it is ready";
  const isSilent = ready?.reason === "ProviderUnreachable" || !site.reachability.reachable;
  return { reason: isSilent ? "SiteUnreachable" : "NotRealised", message };
}
