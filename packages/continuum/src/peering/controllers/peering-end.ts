import { type Contract, FORCE_REMOVE_ANNOTATION, Peering, VIRTUAL_NODE, VirtualNode } from "@fjord/api";
import { describeError } from "@fjord/base";
import {
  againAfter,
  done,
  hasFinalizer,
  ifNotFound,
  isBeingDeleted,
  isNotFound,
  type KubeClient,
  Node,
  Pod,
  type Result,
  removeFinalizer,
  setCondition,
} from "@fjord/kube";
import type { Home } from "../../home.ts";
import { type ContractStore, endOf, isRefusal, lineOf } from "../../market/index.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { Agreement } from "./agreement.ts";
import { ProviderSilent } from "./errors.ts";
import { belongsTo, virtualNodeName } from "./virtual-node-forge.ts";

export interface PeeringEndOptions {
  readonly home: Home;
  readonly sites: RemoteSites;
  readonly store: ContractStore;
  readonly agreement: Agreement;
}

/** How long the other side is waited for where it may be gone for good. */
const FORCED_CALL_MS = 1_000;
const LOOK_AGAIN_MS = 1_000;

/** Takes a Peering back: its node with the pods there first, then the contract on both sides. */
export class PeeringEnd {
  readonly #options: PeeringEndOptions;

  constructor(options: PeeringEndOptions) {
    this.#options = options;
  }

  async bringAbout(peering: Peering, finalizer: string, signal: AbortSignal): Promise<Result> {
    const { client } = this.#options.home;
    if (!hasFinalizer(peering, finalizer)) return done();
    const forced = isForced(peering);
    const node = await this.#node(peering, signal);
    if (node !== undefined) {
      await this.#endNode(node, forced, signal);
      await this.#say(peering, `waiting for the pods on ${node.metadata.name} to end`, signal);
      // The node's end brings the Peering back; the look is for pods that were forced and came again.
      return againAfter(forced ? LOOK_AGAIN_MS / 4 : LOOK_AGAIN_MS * 10);
    }
    await this.#options.store.fresh();
    const contracts = this.#options.agreement.contractsOf(peering);
    const newest = Map.groupBy(contracts, ({ spec }) => lineOf(spec.terms.id)).values();
    for (const [contract] of newest) if (contract) await this.#cancel(peering, contract, forced, signal);
    for (const contract of contracts) await this.#options.store.remove(contract);
    await removeFinalizer(client, Peering, peering, finalizer, { signal });
    return done();
  }

  async #node(peering: Peering, signal: AbortSignal): Promise<VirtualNode | undefined> {
    try {
      const node = await this.#options.home.client.get(VirtualNode, { name: virtualNodeName(peering) }, { signal });
      return belongsTo(node, peering) ? node : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #endNode(node: VirtualNode, forced: boolean, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.home;
    const name = node.metadata.name ?? "";
    if (forced && node.metadata.annotations?.[FORCE_REMOVE_ANNOTATION] !== "true") {
      const patch = { metadata: { annotations: { [FORCE_REMOVE_ANNOTATION]: "true" } } };
      await client.patch(VirtualNode, { name }, "merge", patch, { signal }).catch(ifNotFound);
    }
    if (!isBeingDeleted(node)) {
      const preconditions = { uid: node.metadata.uid ?? "" };
      await client.delete(VirtualNode, { name }, { preconditions, signal }).catch(ifNotFound);
    }
    if (forced) await dropPods(client, name, signal);
  }

  /** Tells the provider. One that is gone for good, as its owner says, because its Site is no more or by its own word, is not waited for. */
  async #cancel(peering: Peering, contract: Contract, forced: boolean, signal: AbortSignal): Promise<void> {
    const { home, sites } = this.#options;
    const { id, provider } = contract.spec.terms;
    const end = endOf(contract, "Consumer", home.clock.now());
    // One that has run out here may be in force at the provider, where a clock was set meanwhile.
    if (end !== undefined && end !== "Cancelled" && end !== "Superseded" && end !== "Expired") return;
    const site = sites.get(provider);
    if (site === undefined || site.reachability.forgotten) return;
    try {
      await this.#callOff(site, id, forced || end === "Expired", signal);
      site.refresh();
    } catch (error) {
      if (isRefusal(error, "ContractUnknown")) return;
      if (forced || end === "Expired") {
        home.logger.warn("a contract ends without its provider being told", {
          contract: id,
          error: describeError(error),
        });
        return;
      }
      const silent = new ProviderSilent({ peering: peering.metadata.name }, { cause: error });
      await this.#say(peering, silent.message, signal);
      throw silent;
    }
  }

  async #callOff(site: RemoteSite, id: string, forced: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.home;
    const patience = new AbortController();
    const cancel = forced ? clock.after(FORCED_CALL_MS, () => patience.abort()) : () => {};
    try {
      const either = AbortSignal.any([signal, patience.signal]);
      await site.call("PUT", `/contracts/${id}/standing`, { standing: "Ended" }, either);
    } finally {
      cancel();
    }
  }

  async #say(peering: Peering, message: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options.home;
    const observedGeneration = peering.metadata.generation ?? 0;
    const wanted = { type: "Ready", status: "False", reason: "Ending", message, observedGeneration } as const;
    const { conditions, changed } = setCondition(peering.status?.conditions, wanted, clock.now());
    if (!changed) return;
    const key = { name: peering.metadata.name ?? "" };
    const options = { subresource: "status", signal };
    await client.patch(Peering, key, "merge", { status: { conditions } }, options).catch(ifNotFound);
  }
}

export function isForced({ metadata }: { metadata: { annotations?: Record<string, string> } }): boolean {
  return metadata.annotations?.[FORCE_REMOVE_ANNOTATION] === "true";
}

/** Pods whose provider is gone for good cannot end by themselves: their objects go at once. Those of a Node that was never ours stay. */
async function dropPods(client: KubeClient, node: string, signal: AbortSignal): Promise<void> {
  const found = await client.get(Node, { name: node }, { signal }).catch(ifNotFound);
  if (found !== undefined && found.metadata.labels?.[VIRTUAL_NODE] !== "true") return;
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${node}`, omitManagedFields: true, signal });
  for (const { metadata } of items) {
    const key = { name: metadata.name ?? "", namespace: metadata.namespace ?? "" };
    const preconditions = { uid: metadata.uid ?? "" };
    await client.delete(Pod, key, { gracePeriodSeconds: 0, preconditions, signal }).catch(ifNotFound);
  }
}
