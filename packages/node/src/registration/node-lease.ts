import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { isConflict, isNotFound, type KubeClient, Lease } from "@fjord/kube";

export interface NodeLeaseOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  readonly nodeName: string;
  /** @default 40 */
  readonly durationSeconds?: number;
  /** @default a quarter of the duration */
  readonly renewMs?: number;
  /** Uid of the Node object: the lease goes with it. */
  readonly owner: () => string | undefined;
  /** Told when the lease was not there any more: most often because the Node was deleted. */
  readonly lost: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const LEASE_NAMESPACE = "kube-node-lease";

/**
 * The sign of life that the control plane looks at. A renewal is one small request that reads nothing first: thousands
 * of nodes may live in one process.
 */
export class NodeLease {
  readonly #options: Required<NodeLeaseOptions>;
  #lease: Lease | undefined;
  #failing = false;

  constructor(options: NodeLeaseOptions) {
    const { durationSeconds = 40 } = options;
    this.#options = { durationSeconds, renewMs: (durationSeconds * 1000) / 4, ...options };
  }

  /** Renews until `signal` aborts; the lease then lapses by itself, so that a restart is no absence. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, renewMs } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      failures = (await this.#tryRenew(signal)) ? 0 : failures + 1;
      const wait = failures === 0 ? renewMs : Math.min(renewMs, 200 * 2 ** Math.min(failures, 16));
      await sleep(clock, wait * (0.96 + 0.08 * random()), signal);
    }
  }

  async #tryRenew(signal: AbortSignal): Promise<boolean> {
    const { logger, clock, renewMs, nodeName } = this.#options;
    const late = new AbortController();
    // An answer that comes after the next renewal is due is of no use.
    const cancel = clock.after(renewMs, () => late.abort(new Error(`no answer within ${renewMs / 1000} s`)));
    try {
      await this.#renew(AbortSignal.any([signal, late.signal]));
      if (this.#failing) logger.info("the node's lease is renewed again", { node: nodeName });
      this.#failing = false;
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      if (!this.#failing) logger.warn("cannot renew the node's lease", { node: nodeName, error: describeError(error) });
      this.#failing = true;
      return false;
    } finally {
      cancel();
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { client, lost } = this.#options;
    const known = this.#lease;
    try {
      this.#lease = kept(
        known === undefined
          ? await client.create(Lease, this.#forge(undefined), { signal })
          : await client.update(Lease, this.#forge(known), { signal }),
      );
    } catch (error) {
      if (known !== undefined && isNotFound(error)) {
        this.#lease = undefined;
        lost();
        return this.#renew(signal);
      }
      if (!isConflict(error) && !(known === undefined && isTaken(error))) throw error;
      // Of an earlier life, or touched by someone.
      const { nodeName } = this.#options;
      const found = await client.get(Lease, { name: nodeName, namespace: LEASE_NAMESPACE }, { signal });
      this.#lease = kept(await client.update(Lease, this.#forge(found), { signal }));
    }
  }

  #forge(known: Lease | undefined): Lease {
    const { nodeName, durationSeconds, clock, owner } = this.#options;
    const uid = owner();
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: nodeName,
        namespace: LEASE_NAMESPACE,
        ...(known?.metadata.resourceVersion && { resourceVersion: known.metadata.resourceVersion }),
        ...(uid !== undefined && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }] }),
      },
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds: durationSeconds,
        // Microseconds, which JavaScript does not have.
        renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
      },
    };
  }
}

function isTaken(error: unknown): boolean {
  return (error as { reason?: unknown }).reason === "AlreadyExists";
}

/** The little of it that the next renewal needs. */
function kept({ apiVersion, kind, metadata }: Lease): Lease {
  return { apiVersion, kind, metadata: { resourceVersion: metadata.resourceVersion } };
}
