import { describeError, type KubeObject } from "@fjord/base";
import type { Cluster } from "../cluster.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { StatusError } from "../status-error.ts";
import { type CustomTypeMeans, customType } from "./custom-type.ts";
import { CLEANUP_FINALIZER, type Definition, type DefinitionCondition, GROUP } from "./definition.ts";

export interface DefinitionKeeperOptions extends CustomTypeMeans {
  readonly cluster: Cluster;
  /** Where custom resources are served from. */
  readonly served: { add(type: ResourceType): void; remove(group: string, plural: string): void };
}

/** Follows definitions: serves what they define, says so in their status, and removes what goes with them. */
export class DefinitionKeeper {
  readonly #options: DefinitionKeeperOptions;
  /** One after the other for each definition. */
  readonly #work = new Map<string, Promise<void>>();
  readonly #serving = new Map<string, string>();
  #stop: (() => void) | undefined;

  constructor(options: DefinitionKeeperOptions) {
    this.#options = options;
  }

  /** What is there by now is served when this returns. */
  start(): void {
    this.#stop = this.#options.cluster.follow(this.#type, ({ type, object }) =>
      this.#changed(type, object as Definition),
    );
  }

  async stop(): Promise<void> {
    this.#stop?.();
    await Promise.all(this.#work.values());
  }

  get #type(): ResourceType {
    const type = this.#options.cluster.types.ofKind(GROUP, "CustomResourceDefinition");
    if (type === undefined) throw new TypeError("CustomResourceDefinitions are not served");
    return type;
  }

  #changed(event: string, definition: Definition): void {
    const name = definition.metadata.name ?? "";
    if (event === "DELETED") {
      const { group, names } = definition.spec;
      if (this.#serving.delete(name)) this.#options.served.remove(group, names.plural);
      return;
    }
    if (isEstablished(definition)) this.#serve(definition);
    const before = this.#work.get(name) ?? Promise.resolve();
    const work = before
      .then(() => this.#keep(name))
      .catch((error: unknown) => {
        this.#options.cluster.logger.error("a definition cannot be kept", {
          definition: name,
          error: describeError(error),
        });
      })
      .finally(() => {
        if (this.#work.get(name) === work) this.#work.delete(name);
      });
    this.#work.set(name, work);
  }

  #serve(definition: Definition): void {
    const name = definition.metadata.name ?? "";
    const { spec, status } = definition;
    const content = JSON.stringify([spec, status?.acceptedNames]);
    if (this.#serving.get(name) === content) return;
    this.#serving.set(name, content);
    if (spec.versions.some(({ served }) => served)) this.#options.served.add(customType(definition, this.#options));
    else this.#options.served.remove(spec.group, spec.names.plural);
  }

  async #keep(name: string): Promise<void> {
    const { cluster } = this.#options;
    const definition = cluster.get(this.#type, "", name) as Definition | undefined;
    if (definition === undefined) return;
    if (definition.metadata.deletionTimestamp !== undefined) return await this.#clean(definition);
    const status = nextStatus(definition, this.#conflicts(definition), this.#now());
    if (JSON.stringify(status) === JSON.stringify(definition.status)) return;
    const change = (object: KubeObject) => ({ ...object, status }) as KubeObject;
    await cluster.modify(this.#type, "", name, change, { subresource: "status" });
  }

  /** Names that other resources of the group have already. */
  #conflicts({ spec }: Definition): string[] {
    const { cluster } = this.#options;
    const others = cluster.types
      .list()
      .filter(({ group, plural }) => group === spec.group && plural !== spec.names.plural);
    const taken = new Set(others.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames]));
    const kinds = new Set(others.flatMap(({ kind }) => [kind, `${kind}List`]));
    const { plural, singular = "", shortNames = [], kind, listKind = "" } = spec.names;
    return [
      ...[plural, singular, ...shortNames].filter((one) => taken.has(one)),
      ...[kind, listKind].filter((one) => kinds.has(one)),
    ];
  }

  /** Custom resources go before their definition does. */
  async #clean(definition: Definition): Promise<void> {
    const { cluster } = this.#options;
    const name = definition.metadata.name ?? "";
    if (!definition.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return;
    const type = cluster.types.find(definition.spec.group, servedVersion(definition), definition.spec.names.plural);
    if (type !== undefined) {
      for (const { metadata } of cluster.list(type)) {
        if (metadata.deletionTimestamp !== undefined) continue;
        await cluster.delete(type, metadata.namespace ?? "", metadata.name ?? "").catch((error: unknown) => {
          // Somebody else was faster. Anything else is to be seen: the definition waits for this object.
          if (!(error instanceof StatusError) || error.code !== 404) throw error;
        });
      }
      // Those with finalizers are waited for: their going is seen below.
      if (cluster.list(type).length > 0) {
        await this.#emptied(type);
      }
    }
    await cluster.modify(this.#type, "", name, (object) => ({
      ...object,
      metadata: {
        ...object.metadata,
        finalizers: object.metadata.finalizers?.filter((one) => one !== CLEANUP_FINALIZER) ?? [],
      },
    }));
  }

  #emptied(type: ResourceType): Promise<void> {
    const { cluster } = this.#options;
    return new Promise((resolve) => {
      let end = () => {};
      const check = () => {
        if (cluster.list(type).length > 0) return;
        end();
        resolve();
      };
      end = cluster.follow(type, ({ type: event }) => {
        if (event === "DELETED") setImmediate(check);
      });
      check();
    });
  }

  #now(): string {
    return new Date(this.#options.cluster.clock.now()).toISOString().replace(/\.\d+/, "");
  }
}

function servedVersion({ spec }: Definition): string {
  return spec.versions.find(({ served }) => served)?.name ?? "";
}

function isEstablished({ status }: Definition): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True") ?? false;
}

/** Names are accepted where nobody else has them; then the resource is established, and stays so. */
export function nextStatus(definition: Definition, conflicts: readonly string[], now: string): Definition["status"] {
  const { spec, status } = definition;
  const before = status?.conditions ?? [];
  const set = (list: DefinitionCondition[], next: Omit<DefinitionCondition, "lastTransitionTime">) => {
    const old = list.find(({ type }) => type === next.type);
    const lastTransitionTime = old?.status === next.status ? old.lastTransitionTime : now;
    return [...list.filter(({ type }) => type !== next.type), { lastTransitionTime, ...next }];
  };
  const accepted = conflicts.length === 0;
  let conditions = set(
    [...before],
    accepted
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : {
          type: "NamesAccepted",
          status: "False",
          reason: "PluralConflict",
          message: conflicts.map((name) => `"${name}" is already in use`).join(", "),
        },
  );
  const wasEstablished = isEstablished(definition);
  if (accepted || wasEstablished) {
    conditions = set(conditions, {
      type: "Established",
      status: "True",
      reason: "InitialNamesAccepted",
      message: "the initial names have been accepted",
    });
  } else {
    conditions = set(conditions, {
      type: "Established",
      status: "False",
      reason: "NotAccepted",
      message: "not all names are accepted",
    });
  }
  const storage = spec.versions.find((version) => version.storage)?.name;
  const stored = status?.storedVersions ?? [];
  return {
    ...status,
    acceptedNames: accepted ? spec.names : (status?.acceptedNames ?? { plural: "", kind: "" }),
    conditions,
    storedVersions: storage === undefined || stored.includes(storage) ? stored : [...stored, storage],
  };
}
