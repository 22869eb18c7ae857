import type { Contract } from "@fjord/api";
import type { KubeletServer } from "@fjord/node/kubelet-api";
import { type NodeFacts, type NodeIdentity, NodeRegistration } from "@fjord/node/registration";
import { durationMs } from "../../duration.ts";
import type { Home } from "../../home.ts";
import type { RemoteSites } from "../../peering/remote-site.ts";
import type { KnownVirtualNode } from "../virtual-nodes.ts";
import { forgeFacts, forgeIdentity, type NodeInputs, type Readiness, readinessOf } from "./forge-node.ts";

export interface VirtualNodeKeeperOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  /** The node as it is now; undefined once it is gone. */
  readonly node: () => KnownVirtualNode | undefined;
  readonly contract: (name: string) => Contract | undefined;
  readonly server: KubeletServer;
  readonly address: string;
  readonly kubeletPort: number;
  readonly kubeletVersion: string;
  /** Told when readiness is another one, for the VirtualNode's status. */
  readonly onReadiness: (readiness: Readiness) => void;
}

/** One virtual node while it lives: its Node, its lease, its kubelet API, and whether the provider is there. */
export class VirtualNodeKeeper {
  readonly name: string;
  readonly #options: VirtualNodeKeeperOptions;
  readonly #registration: NodeRegistration;
  #last: NodeInputs | undefined;
  #cancel = () => {};

  constructor(name: string, options: VirtualNodeKeeperOptions) {
    this.name = name;
    this.#options = options;
    const { client, clock, random, logger } = options.home;
    this.#registration = new NodeRegistration({
      client,
      identity: this.#identity(name),
      facts: () => this.#facts(),
      clock,
      random,
      logger,
    });
  }

  /** Something that the Node is made of may be another now. */
  changed(): void {
    const before = this.#last?.readiness;
    const inputs = this.#inputs();
    if (inputs === undefined) return;
    this.#registration.changed();
    const { status, reason, message } = inputs.readiness;
    if (before?.status !== status || before.reason !== reason || before.message !== message)
      this.#options.onReadiness(inputs.readiness);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { remotes, home, server } = this.#options;
    const release = remotes.onChange((id) => {
      if (id === this.#options.node()?.site) this.changed();
    });
    try {
      this.changed();
      await Promise.all([this.#registration.run(signal), server.run(signal)]);
    } finally {
      release();
      this.#cancel();
      home.logger.debug("a virtual node is no longer kept", { node: this.name });
    }
  }

  /** Read anew whenever the Node is compared: the provider's labels may change while the node lives. */
  #identity(name: string): NodeIdentity {
    const current = () => {
      const inputs = this.#last ?? this.#inputs();
      return inputs === undefined ? undefined : forgeIdentity(inputs);
    };
    return {
      name,
      get labels() {
        return current()?.labels ?? {};
      },
      get taints() {
        return current()?.taints ?? [];
      },
      get providerID() {
        return current()?.providerID ?? "";
      },
    };
  }

  #facts(): NodeFacts | undefined {
    const inputs = this.#inputs();
    return inputs && forgeFacts(inputs);
  }

  #inputs(): NodeInputs | undefined {
    const { node, contract, remotes, home, address, kubeletPort, kubeletVersion } = this.#options;
    const known = node();
    if (known === undefined) return this.#last;
    const remote = remotes.get(known.site);
    const agreed = contract(known.contract);
    const limit = durationMs(known.object.spec.unreachableAfter);
    const readiness = readinessOf(agreed, remote?.reachability, limit, home.clock.now());
    this.#wakeIn(readiness.againInMs);
    const published = remote?.report?.published ?? this.#last?.published;
    this.#last = {
      virtualNode: known.object,
      contract: agreed,
      published,
      address,
      kubeletPort,
      kubeletVersion,
      readiness,
    };
    return this.#last;
  }

  #wakeIn(ms: number | undefined): void {
    this.#cancel();
    this.#cancel = ms === undefined ? () => {} : this.#options.home.clock.after(ms, () => this.changed());
  }
}
