import type { Contract } from "@fjord/api";
import type { Node } from "@fjord/kube";
import type { KubeletServer } from "@fjord/node/kubelet-api";
import { type NodeFacts, type NodeIdentity, NodeRegistration } from "@fjord/node/registration";
import { durationMs } from "../../duration.ts";
import type { Home } from "../../home.ts";
import type { PublishedFacts } from "../../protocol.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import type { KnownVirtualNode } from "../../virtual-nodes.ts";
import { forgeFacts, forgeIdentity, forgeTaints, isVirtual, type NodeInputs } from "./forge-node.ts";
import { cordonOf, type WantedNode } from "./node-changes.ts";
import { forgeLabels } from "./node-labels.ts";
import { judge, type Readiness } from "./readiness.ts";

export interface VirtualNodeKeeperOptions {
  readonly home: Pick<Home, "client" | "clock" | "random" | "logger">;
  readonly remotes: RemoteSites;
  /** The node as it is now; undefined once it is gone. */
  readonly known: () => KnownVirtualNode | undefined;
  /** The contract in force that the one of this name is, or was superseded by. */
  readonly contract: (name: string) => Contract | undefined;
  /** What a site said of itself when it was last heard, also before this process began. */
  readonly published: (site: SiteId) => PublishedFacts | undefined;
  /** The Node as the cache has it. */
  readonly node: () => Node | undefined;
  readonly server: KubeletServer;
  readonly address: string;
  readonly kubeletVersion: string;
  /** Told when something that the Node or the VirtualNode's status is made of may be another. */
  readonly onChange: () => void;
}

/** One virtual node while it lives: its Node, its lease, its kubelet API, and whether the provider is there. */
export class VirtualNodeKeeper {
  readonly name: string;
  readonly #options: VirtualNodeKeeperOptions;
  #registration: NodeRegistration | undefined;
  #inputs: NodeInputs | undefined;
  #restart = () => {};
  #cancel = () => {};

  constructor(name: string, options: VirtualNodeKeeperOptions) {
    this.name = name;
    this.#options = options;
  }

  /** Undefined until the provider was asked once. */
  get readiness(): Readiness | undefined {
    return this.#inputs?.readiness;
  }

  /** What the Node is to be, beside its status; undefined while that is not known. */
  get wanted(): WantedNode | undefined {
    if (this.#inputs === undefined) return undefined;
    const { virtualNode, contract, published } = this.#inputs;
    return {
      ...(published && { labels: forgeLabels(virtualNode, contract, published) }),
      taints: forgeTaints(virtualNode),
      cordon: cordonOf(contract, virtualNode.metadata.deletionTimestamp !== undefined),
    };
  }

  /** Something that the Node is made of may be another now. */
  changed(): void {
    this.#look();
    this.#registration?.changed();
    this.#options.onChange();
  }

  /** Others, who have not heard of the Node for long, may have called it lost. */
  nodeSeen(node: Node): void {
    this.#registration?.saw(node);
  }

  /** Somebody has deleted the Node: it is made again. */
  nodeGone(): void {
    this.#restart();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { remotes, server } = this.#options;
    const release = remotes.onChange((id) => {
      if (id === this.#options.known()?.site) this.changed();
    });
    try {
      this.changed();
      await Promise.all([this.#register(signal), server.run(signal)]);
    } finally {
      release();
      this.#cancel();
    }
  }

  async #register(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const again = new AbortController();
      this.#restart = () => again.abort();
      this.#registration = new NodeRegistration({
        ...this.#options.home,
        identity: this.#identity(),
        facts: () => this.#facts(),
        // The cache tells what others do to the Node.
        observe: false,
      });
      await this.#registration.run(AbortSignal.any([signal, again.signal]));
    }
  }

  /** Asked for when the Node is made; one that exists already is compared by whoever knows which labels are ours. */
  #identity(): NodeIdentity {
    const forged = () => {
      const isNew = this.#options.node() === undefined;
      return isNew && this.#inputs ? forgeIdentity(this.#inputs) : undefined;
    };
    return {
      name: this.name,
      // Of a machine that has taken the name since somebody deleted the Node it is to stay.
      isOwn: isVirtual,
      get labels() {
        return forged()?.labels ?? {};
      },
      get annotations() {
        return forged()?.annotations ?? {};
      },
      get taints() {
        return forged()?.taints ?? [];
      },
      get providerID() {
        return forged()?.providerID ?? "";
      },
    };
  }

  #facts(): NodeFacts | undefined {
    return this.#inputs && forgeFacts(this.#inputs);
  }

  #look(): void {
    const { known, contract, remotes, home, address, kubeletVersion, server, node } = this.#options;
    const current = known();
    if (current === undefined) return;
    const remote = remotes.get(current.site);
    const agreed = contract(current.contract);
    const limit = durationMs(current.object.spec.unreachableAfter);
    const { readiness, againInMs } = judge(agreed, remote?.reachability, limit, home.clock.now());
    this.#wakeIn(againInMs);
    if (readiness === undefined) return;
    this.#inputs = {
      virtualNode: current.object,
      contract: agreed,
      // What a provider said before it fell silent still holds.
      published: remote?.report?.published ?? this.#inputs?.published ?? this.#options.published(current.site),
      address,
      kubeletPort: server.address.port,
      kubeletVersion,
      readiness,
      knownResources: Object.keys(node()?.status?.capacity ?? {}),
    };
  }

  #wakeIn(ms: number | undefined): void {
    this.#cancel();
    this.#cancel = ms === undefined ? () => {} : this.#options.home.clock.after(ms, () => this.changed());
  }
}
