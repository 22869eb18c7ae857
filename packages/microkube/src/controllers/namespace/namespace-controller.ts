import type { KubeObject } from "@fjord/base";
import { type ApiResource, Discovery, isNotFound, Namespace, Pod, type Result, watches } from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { again, Loop, reasonOf } from "../loop.ts";
import { writeStatus } from "../status-writer.ts";
import { type Remains, terminationConditions } from "./namespace-conditions.ts";

const FINALIZER = "kubernetes";
/** So many kinds are looked through at a time. */
const AT_ONCE = 8;

/** Empties namespaces that are being deleted, and then lets them go. */
export const namespaceController: ControlLoop = (means) => {
  const loop = new Loop(means, "namespace-controller");
  const namespaces = loop.open(Namespace);
  const pods = loop.open(Pod);
  const terminator = new Terminator(means);
  return loop.reconciles({
    sources: [
      watches(namespaces, { when: ({ object }) => object.metadata.deletionTimestamp !== undefined }),
      watches(pods, {
        when: ({ type }) => type === "delete",
        map: ({ metadata }) => {
          const name = metadata.namespace ?? "";
          return namespaces.get({ name })?.metadata.deletionTimestamp === undefined ? [] : [{ name }];
        },
      }),
    ],
    concurrency: 10,
    async reconcile({ name }, { signal }) {
      const namespace = namespaces.get({ name });
      if (namespace?.metadata.deletionTimestamp === undefined) {
        terminator.forget(name);
        return { type: "done" };
      }
      return await terminator.empty(namespace, signal);
    },
  });
};

interface Leftover {
  readonly resource: string;
  readonly count: number;
  readonly finalizers: readonly string[];
}

class Terminator {
  readonly #means: ControlMeans;
  readonly #discovery: Discovery;
  /** How often in a row a namespace was not empty yet. */
  readonly #tries = new Map<string, number>();

  constructor(means: ControlMeans) {
    this.#means = means;
    // Kinds that came a moment ago have objects too; a burst of deletions asks once.
    this.#discovery = new Discovery(means.client, { ...means, ttlMs: 500 });
  }

  forget(name: string): void {
    this.#tries.delete(name);
  }

  async empty(namespace: Namespace, signal: AbortSignal): Promise<Result> {
    const { name = "" } = namespace.metadata;
    if (!namespace.spec?.finalizers?.includes(FINALIZER)) return { type: "done" };
    const { resources, unanswered } = await this.#discovery.surface();
    const deletable = distinct(resources);
    const failures: string[] = [];
    const left: Leftover[] = [];
    const pods = deletable.find(({ kind }) => kind.group === "" && kind.plural === "pods");
    if (pods !== undefined) left.push(...(await this.#clear(name, [pods], failures, signal)));
    // Pods go first: what they use and what guards them is there as long as they are.
    const onlyPods = left.length > 0;
    if (!onlyPods) left.push(...(await this.#clear(name, deletable, failures, signal)));
    const remains: Remains = {
      resources: new Map(onlyPods ? [] : left.map(({ resource, count }) => [resource, count])),
      finalizers: onlyPods ? new Map() : counted(left.flatMap(({ finalizers }) => finalizers)),
      failures,
      ...(unanswered.length > 0 && { discoveryFailure: discoveryFailure(unanswered) }),
    };
    const written = await this.#write(namespace, remains, signal);
    if (left.length > 0 || failures.length > 0 || unanswered.length > 0) return this.#later(name);
    await this.#finalize(written, signal);
    this.forget(name);
    return { type: "done" };
  }

  #later(name: string): Result {
    const tries = this.#tries.get(name) ?? 0;
    this.#tries.set(name, tries + 1);
    return again(Math.min(5_000, 100 * 2 ** Math.min(tries, 6)));
  }

  /** Deletes all objects of these kinds, and gives what is still there. */
  async #clear(
    namespace: string,
    resources: readonly ApiResource[],
    failures: string[],
    signal: AbortSignal,
  ): Promise<Leftover[]> {
    const left: Leftover[] = [];
    const waiting = [...resources];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        try {
          const leftover = await this.#clearKind(namespace, next, signal);
          if (leftover !== undefined) left.push(leftover);
        } catch (error) {
          if (signal.aborted) throw error;
          failures.push(reasonOf(error));
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return left;
  }

  async #clearKind(
    namespace: string,
    { kind, verbs }: ApiResource,
    signal: AbortSignal,
  ): Promise<Leftover | undefined> {
    const { client } = this.#means;
    const listed = await this.#list(namespace, { kind, verbs }, signal);
    if (listed.length === 0) return undefined;
    const propagationPolicy = "Background";
    if (verbs.includes("deletecollection")) {
      await client.deleteCollection(kind, { namespace, propagationPolicy, signal });
    } else {
      for (const { metadata } of listed) {
        const key = { name: metadata.name ?? "", namespace };
        await client.delete(kind, key, { propagationPolicy, signal }).catch((error) => {
          if (!isNotFound(error)) throw error;
        });
      }
    }
    const still = await this.#list(namespace, { kind, verbs }, signal);
    if (still.length === 0) return undefined;
    const finalizers = still.flatMap(({ metadata }) => metadata.finalizers ?? []);
    return { resource: `${kind.plural}.${kind.group}`, count: still.length, finalizers };
  }

  async #list(
    namespace: string,
    { kind, verbs }: Pick<ApiResource, "kind" | "verbs">,
    signal: AbortSignal,
  ): Promise<KubeObject[]> {
    if (!verbs.includes("list")) return [];
    try {
      return (await this.#means.client.list(kind, { namespace, omitManagedFields: true, signal })).items;
    } catch (error) {
      // Served no longer, or only for some namespaces.
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  async #write(namespace: Namespace, remains: Remains, signal: AbortSignal): Promise<Namespace> {
    const conditions = terminationConditions(namespace.status?.conditions, remains, this.#means.clock.now());
    const status = { ...namespace.status, phase: "Terminating", conditions };
    try {
      return await writeStatus(this.#means.client, Namespace, namespace, { status }, signal);
    } catch (error) {
      if (isNotFound(error)) return namespace;
      throw error;
    }
  }

  async #finalize(namespace: Namespace, signal: AbortSignal): Promise<void> {
    const finalizers = namespace.spec?.finalizers?.filter((name) => name !== FINALIZER) ?? [];
    const finalized: Namespace = { ...namespace, spec: { ...namespace.spec, finalizers } };
    try {
      await this.#means.client.update(Namespace, finalized, { subresource: "finalize", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** One version of each namespaced kind that can be deleted. */
function distinct(resources: readonly ApiResource[]): ApiResource[] {
  const found = new Map<string, ApiResource>();
  for (const resource of resources) {
    const { kind, verbs } = resource;
    const id = `${kind.plural}.${kind.group}`;
    if (kind.namespaced && verbs.includes("delete") && !found.has(id)) found.set(id, resource);
  }
  return [...found.values()];
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function discoveryFailure(unanswered: readonly { groupVersion: string; reason: string }[]): string {
  const list = unanswered.map(({ groupVersion, reason }) => `${groupVersion}: ${reason}`).join(", ");
  const failed = `unable to retrieve the complete list of server APIs: ${list}`;
  return `Discovery failed for some groups, ${unanswered.length} failing: ${failed}`;
}
