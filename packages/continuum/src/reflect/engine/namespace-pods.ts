import { describeError } from "@fjord/base";
import { Pod, type SharedCache, sameContent } from "@fjord/kube";
import type { Home } from "../../home.ts";

/** What comes within this after a change is told with it. */
const TOGETHER_MS = 250;

interface Followed {
  readonly shared: SharedCache<Pod>;
  readonly release: () => void;
}

/** All own pods of those namespaces that somebody asks about, and when what policies look at in them has changed. */
export class NamespacePods {
  readonly #home: Pick<Home, "caches" | "clock" | "logger">;
  readonly #onChange: (namespace: string) => void;
  readonly #followed = new Map<string, Followed>();
  readonly #waiting = new Map<string, () => void>();

  constructor(home: Pick<Home, "caches" | "clock" | "logger">, onChange: (namespace: string) => void) {
    this.#home = home;
    this.#onChange = onChange;
  }

  /** Whether all pods of the namespace are known; when that comes to be, it is told as a change. */
  isKnown(namespace: string): boolean {
    const found = this.#followed.get(namespace) ?? this.#begin(namespace);
    return found.shared.cache.hasSynced;
  }

  in(namespace: string): readonly Pod[] {
    return this.#followed.get(namespace)?.shared.cache.list(namespace) ?? [];
  }

  /** Lets go of all namespaces but these. */
  keepOnly(namespaces: ReadonlySet<string>): void {
    for (const [namespace, { release }] of this.#followed) {
      if (namespaces.has(namespace)) continue;
      this.#followed.delete(namespace);
      release();
    }
  }

  #begin(namespace: string): Followed {
    const shared = this.#home.caches.open(Pod, { namespace });
    const gone = new AbortController();
    const tell = (pod: Pod) => {
      if (facts(pod).addresses.length > 0) this.#tell(namespace);
    };
    const remove = shared.cache.addHandler({
      onAdd: tell,
      onUpdate: (old, now) => {
        if (!sameContent(facts(old), facts(now))) this.#tell(namespace);
      },
      onDelete: tell,
    });
    const followed = {
      shared,
      release: () => {
        gone.abort();
        this.#waiting.get(namespace)?.();
        this.#waiting.delete(namespace);
        remove();
        shared[Symbol.dispose]();
      },
    };
    this.#followed.set(namespace, followed);
    shared.cache.waitForSync(gone.signal).then(
      () => this.#tell(namespace),
      (error) => this.#home.logger.debug("a list of pods was given up", { namespace, error: describeError(error) }),
    );
    return followed;
  }

  #tell(namespace: string): void {
    if (this.#waiting.has(namespace)) return;
    const cancel = this.#home.clock.after(TOGETHER_MS, () => {
      this.#waiting.delete(namespace);
      this.#onChange(namespace);
    });
    this.#waiting.set(namespace, cancel);
  }
}

/** What of a pod decides whether, and as whom, it may speak. */
function facts({ metadata, spec, status }: Pod) {
  const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
  const own = spec?.hostNetwork !== true && !isOver;
  return {
    labels: metadata.labels ?? {},
    node: spec?.nodeName,
    addresses: own ? (status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : [])) : [],
  };
}
