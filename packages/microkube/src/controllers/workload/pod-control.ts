import type { KubeObject } from "@fjord/base";
import { isNotFound, type KubeClient, Pod, requestFor } from "@fjord/kube";
import { isNamespaceTerminating, reasonOf } from "../loop.ts";

/** Whoever tells people what happened to an object. Every `Loop` does. */
export interface Teller {
  event(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void;
}

/** Creates and deletes pods for an owner, and says so in the owner's events. */
export class PodControl {
  readonly #client: KubeClient;
  readonly #teller: Teller;

  constructor(client: KubeClient, teller: Teller) {
    this.#client = client;
    this.#teller = teller;
  }

  /** Undefined where the namespace is going away, and no pod can be made any more. */
  async create(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<Pod | undefined> {
    try {
      const created = await this.#client.create(Pod, pod, { signal });
      this.#teller.event(owner, "Normal", "SuccessfulCreate", `Created pod: ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!signal.aborted) this.#teller.event(owner, "Warning", "FailedCreate", `Error creating: ${reasonOf(error)}`);
      throw error;
    }
  }

  /** False where the pod was gone already. */
  async delete(owner: KubeObject, pod: Pod, signal: AbortSignal): Promise<boolean> {
    const { name, uid } = pod.metadata;
    try {
      await this.#client.delete(Pod, requestFor(pod), { preconditions: { uid }, signal });
      this.#teller.event(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!signal.aborted) this.#teller.event(owner, "Warning", "FailedDelete", `Error deleting: ${reasonOf(error)}`);
      throw error;
    }
  }
}
