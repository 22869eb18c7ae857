import { Contract, Offloading, Peering, Site } from "@fjord/api";
import { type Clock, describeError, sleep } from "@fjord/base";
import { isAlreadyExists, isNotFound, type KubeClient, Namespace, Pod } from "@fjord/kube";
import { forgeOffloading, forgeWorkload, workloadKinds } from "./objects.ts";
import { SHARED_PODS } from "./topology.ts";
import type { Place, Step, UserAction } from "./wishes.ts";

export interface UsersOptions {
  readonly clients: ReadonlyMap<string, KubeClient>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Users who try each wish until the API has taken it, in order for each namespace and each peering. */
export class Users {
  readonly #options: UsersOptions;
  readonly #queues = new Map<string, Promise<void>>();
  /** What is being tried now, and what came of the last try. */
  readonly #trying = new Map<Step, string>();

  constructor(options: UsersOptions) {
    this.#options = options;
  }

  get trying(): ReadonlyMap<Step, string> {
    return this.#trying;
  }

  wish(step: Step): void {
    const { action } = step;
    if (action === undefined) return;
    const queue = "in" in action ? action.in.name : `${action.consumer} ${action.provider}`;
    this.#trying.set(step, "waits for its turn");
    this.#queues.set(
      queue,
      (this.#queues.get(queue) ?? Promise.resolve()).then(() => this.#untilTaken(step, action)),
    );
  }

  async settled(): Promise<void> {
    await Promise.all(this.#queues.values());
  }

  async #untilTaken(step: Step, action: UserAction): Promise<void> {
    const { clock, signal } = this.#options;
    const attempt = new Attempt(this.#options.clients, signal);
    while (!signal.aborted) {
      try {
        if (await attempt.perform(action)) {
          this.#trying.delete(step);
          return;
        }
        this.#trying.set(step, "is not done yet");
      } catch (error) {
        this.#trying.set(step, describeError(error));
      }
      await sleep(clock, 250, signal);
    }
  }
}

/** One wish. What earlier tries have found out is kept, so that trying again goes on where they ended. */
class Attempt {
  readonly #clients: ReadonlyMap<string, KubeClient>;
  readonly #signal: AbortSignal;
  /** Uid of what is to go before the new one is made. */
  #old: string | undefined;
  #looked = false;
  #timeout: AbortSignal | undefined;

  constructor(clients: ReadonlyMap<string, KubeClient>, signal: AbortSignal) {
    this.#clients = clients;
    this.#signal = signal;
  }

  /** Whether it is done. */
  async perform(action: UserAction): Promise<boolean> {
    switch (action.do) {
      case "put":
        return this.#put(action);
      case "remove":
        return this.#remove(action);
      case "replace":
        return this.#replace(action);
      case "offload":
        return this.#offload(action);
      case "unoffload":
        return this.#unoffload(action.in);
      case "renew":
        return this.#renew(action.in);
      case "resize": {
        const patch = { spec: { resources: { cpu: action.cpu, pods: SHARED_PODS } } };
        await this.#client(action.consumer).patch(Peering, { name: action.provider }, "merge", patch, this.#limit());
        return true;
      }
      case "stand":
        return this.#stand(action);
    }
  }

  async #put({ in: place, what }: Extract<UserAction, { do: "put" }>): Promise<boolean> {
    const client = this.#client(place.site);
    const object = forgeWorkload(place, what);
    const kind = workloadKinds[what.kind];
    try {
      await client.create(kind, object, this.#limit());
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      if (what.kind === "Pod" || what.kind === "Job") return true;
      const { metadata: _, ...rest } = object as unknown as Record<string, unknown>;
      await client.patch(kind, { name: what.name, namespace: place.name }, "merge", rest, this.#limit());
    }
    return true;
  }

  async #remove({ in: place, what }: Extract<UserAction, { do: "remove" }>): Promise<boolean> {
    const key = { name: what.name, namespace: place.name };
    const options = { propagationPolicy: "Background", ...this.#limit() } as const;
    await this.#client(place.site).delete(workloadKinds[what.kind], key, options).catch(unlessNotFound);
    return true;
  }

  async #replace({ in: place, what }: Extract<UserAction, { do: "replace" }>): Promise<boolean> {
    const client = this.#client(place.site);
    const key = { name: what.name, namespace: place.name };
    if (!this.#looked) {
      const found = await client.get(Pod, key, this.#limit()).catch(unlessNotFound);
      this.#old = found?.metadata.uid;
      this.#looked = true;
    }
    const found = await client.get(Pod, key, this.#limit()).catch(unlessNotFound);
    if (found === undefined) {
      await client.create(workloadKinds.Pod, forgeWorkload(place, what), this.#limit());
      return true;
    }
    if (found.metadata.uid !== this.#old) return true;
    if (found.metadata.deletionTimestamp === undefined) {
      const preconditions = { uid: this.#old as string };
      await client.delete(Pod, key, { preconditions, ...this.#limit() }).catch(unlessNotFound);
    }
    return false;
  }

  async #offload({ in: place, pods }: Extract<UserAction, { do: "offload" }>): Promise<boolean> {
    const client = this.#client(place.site);
    await client
      .create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: place.name } }, this.#limit())
      .catch(unlessExists);
    const found = await client.create(Offloading, forgeOffloading(place, pods), this.#limit()).catch(unlessExists);
    if (found !== undefined) return true;
    const there = await client.get(Offloading, { name: "offloading", namespace: place.name }, this.#limit());
    return there.metadata.deletionTimestamp === undefined;
  }

  async #renew(place: Place): Promise<boolean> {
    const client = this.#client(place.site);
    if (!this.#looked) {
      const found = await client.get(Namespace, { name: place.name }, this.#limit()).catch(unlessNotFound);
      this.#old = found?.metadata.uid;
      this.#looked = true;
    }
    const found = await client.get(Namespace, { name: place.name }, this.#limit()).catch(unlessNotFound);
    if (found === undefined) {
      const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: place.name } } as const;
      await client.create(Namespace, object, this.#limit());
      return true;
    }
    if (found.metadata.uid !== this.#old) return true;
    if (found.metadata.deletionTimestamp === undefined)
      await client.delete(Namespace, { name: place.name }, this.#limit()).catch(unlessNotFound);
    return false;
  }

  /** The end is not waited for: users go on, and whatever they ask for meanwhile must come true too. */
  async #unoffload(place: Place): Promise<boolean> {
    const key = { name: "offloading", namespace: place.name };
    await this.#client(place.site).delete(Offloading, key, this.#limit()).catch(unlessNotFound);
    return true;
  }

  async #stand(action: Extract<UserAction, { do: "stand" }>): Promise<boolean> {
    const { consumer, provider, side, standing } = action;
    const client = this.#client(side === "consumer" ? consumer : provider);
    const other = side === "consumer" ? provider : consumer;
    const { spec, status } = await client.get(Site, { name: other }, this.#limit());
    const id = status?.id ?? spec.id;
    const contracts = await client.list(Contract, this.#limit());
    for (const contract of contracts.items) {
      const { terms, standing: current } = contract.spec;
      if ((side === "consumer" ? terms.provider : terms.consumer) !== id) continue;
      if (current === "Ended" || current === standing) continue;
      if (contract.status?.phase === "Ended" && standing !== "Open") continue;
      await client.patch(Contract, { name: terms.id }, "merge", { spec: { standing } }, this.#limit());
    }
    return true;
  }

  #client(site: string): KubeClient {
    return this.#clients.get(site) as KubeClient;
  }

  /** An API server that is paused never answers. */
  #limit(): { signal: AbortSignal } {
    // Held here: a timeout that only a joined signal knows may be collected before it is over.
    this.#timeout = AbortSignal.timeout(5_000);
    return { signal: AbortSignal.any([this.#signal, this.#timeout]) };
  }
}

export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function unlessExists(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
}
