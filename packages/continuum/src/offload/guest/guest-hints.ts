import { ShadowPod } from "@fjord/api";
import { type Cache, compareResourceVersions } from "@fjord/kube";

/** A write that the API server has answered, as the proxy that passed it on saw it. */
export interface SeenWrite {
  readonly verb: string;
  readonly namespace: string;
  readonly name: string;
  /** The API server's answer. */
  readonly body: unknown;
}

/**
 * The shadow pods, as the watch shows them or as the proxy has just seen them written, whichever is newer: what passes
 * through this very process need not be waited for.
 */
export class HintedShadows {
  readonly #cache: Cache<ShadowPod>;
  readonly #made = new Map<string, ShadowPod>();
  readonly #gone = new Map<string, string>();

  constructor(cache: Cache<ShadowPod>) {
    this.#cache = cache;
  }

  /** Takes a write over; true where it tells something that the watch has not yet shown. */
  see({ verb, namespace, name, body }: SeenWrite): boolean {
    const answer = body as Partial<ShadowPod> & { details?: { uid?: unknown } };
    const key = { namespace, name };
    const known = this.#cache.get(key);
    if (verb === "delete") {
      // Anything but a Status is an object that is still there, kept by somebody's finalizer.
      const uid = (answer?.kind as string) === "Status" ? answer.details?.uid : undefined;
      if (typeof uid !== "string" || known?.metadata.uid !== uid) return false;
      this.#gone.set(keyOf(key), uid);
      return true;
    }
    if (verb !== "create" || answer?.kind !== ShadowPod.kind || typeof answer.metadata?.uid !== "string") return false;
    if (known !== undefined || this.#isPassed(answer as ShadowPod)) return false;
    this.#made.set(`${namespace}/${answer.metadata.name}`, answer as ShadowPod);
    return true;
  }

  get(namespace: string, name: string): ShadowPod | undefined {
    const key = `${namespace}/${name}`;
    const shown = this.#cache.get({ namespace, name });
    const made = this.#made.get(key);
    if (made !== undefined && (shown !== undefined || this.#isPassed(made))) this.#made.delete(key);
    if (shown !== undefined && this.#gone.get(key) === shown.metadata.uid) return undefined;
    this.#gone.delete(key);
    return shown ?? this.#made.get(key);
  }

  /** Whether the proxy has seen that very shadow pod deleted, and the watch has yet to show it. */
  isSeenGone(namespace: string, name: string, uid: string): boolean {
    return this.#gone.get(keyOf({ namespace, name })) === uid;
  }

  /** Whether the watch stands behind the moment at which the shadow pod was made. */
  #isPassed({ metadata }: ShadowPod): boolean {
    const { resourceVersion } = this.#cache.health;
    const order = compareResourceVersions(resourceVersion ?? "", metadata.resourceVersion ?? "");
    return order === undefined || order > 0;
  }
}

function keyOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}
