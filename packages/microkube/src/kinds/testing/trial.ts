import type { KubeObject } from "@fjord/base";
import { silentLogger, systemClock } from "@fjord/base";
import { type Cluster, SYSTEM } from "../../cluster.ts";
import { applyDefaults, builtInSchemas, Decoder, GoTypes, settleEmptyFields } from "../../schema/index.ts";
import { invalid, StatusError } from "../../status-error.ts";
import { builtInTypes } from "../index.ts";
import type { ResourceType, WriteContext } from "../resource-type.ts";

/** What became of a write: the object, or what was said against it. */
export interface Outcome {
  readonly object?: KubeObject;
  /** `field: message`, each once, sorted: the real server has no order where it goes through maps. */
  readonly errors?: readonly string[];
  readonly warnings: readonly string[];
}

/** The kinds without a server: each write is prepared, filled in and validated as a registry does it. */
export class KindTrial {
  readonly types: readonly ResourceType[];
  readonly #cluster: Cluster;
  readonly #decoder: Decoder;

  constructor() {
    const schemas = builtInSchemas();
    this.#decoder = new Decoder(schemas, new GoTypes());
    const types = builtInTypes(schemas, { serviceRanges: ["10.181.0.0/16"] });
    this.types = types;
    this.#cluster = {
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      types: {
        find: (group, version, plural) =>
          types.find((one) => one.group === group && one.plural === plural && one.versions.includes(version)),
        ofKind: (group, kind) => types.find((one) => one.group === group && one.kind === kind),
        list: () => types,
        onChange: () => () => {},
      },
      get: () => undefined,
      list: () => [],
      create: () => Promise.reject(new TypeError("a trial keeps nothing")),
      modify: () => Promise.reject(new TypeError("a trial keeps nothing")),
      delete: () => Promise.reject(new TypeError("a trial keeps nothing")),
      follow: () => () => {},
      parse: (stored) => JSON.parse(stored.json),
    };
  }

  type(group: string, kind: string): ResourceType {
    const found = this.types.find((one) => one.group === group && one.kind === kind);
    if (found === undefined) throw new TypeError(`no kind ${kind} in ${group}`);
    return found;
  }

  async create(type: ResourceType, sent: KubeObject): Promise<Outcome> {
    const object = this.#filled(type, sent);
    const { strategy } = type;
    if (strategy.hasStatus) delete (object as { status?: unknown }).status;
    if (strategy.changesGeneration !== undefined) object.metadata.generation = 1;
    return this.#judged(type, object, async (context) => {
      await strategy.prepareCreate?.(object, context);
      const errors = strategy.validate?.(object) ?? [];
      if (errors.length > 0) throw invalid(type, object.metadata.name ?? "", errors);
      for (const text of strategy.warnings?.(object) ?? []) context.warn(text);
      strategy.reserve?.(object, undefined, context);
    });
  }

  async update(type: ResourceType, sent: KubeObject, old: KubeObject): Promise<Outcome> {
    const object = this.#filled(type, sent);
    const { strategy } = type;
    if (strategy.hasStatus) {
      const { status } = old as { status?: unknown };
      Object.assign(object, { status: structuredClone(status) });
    }
    return this.#judged(type, object, async (context) => {
      await strategy.prepareUpdate?.(object, old, context);
      if (strategy.changesGeneration?.(object, old)) {
        object.metadata.generation = (old.metadata.generation ?? 0) + 1;
      }
      const errors = strategy.validateUpdate?.(object, old) ?? [];
      if (errors.length > 0) throw invalid(type, object.metadata.name ?? "", errors);
      for (const text of strategy.warnings?.(object, old) ?? []) context.warn(text);
      strategy.reserve?.(object, old, context);
    });
  }

  #filled(type: ResourceType, sent: KubeObject): KubeObject {
    const schema = type.schema(type.version);
    if (schema === undefined) throw new TypeError(`no schema of ${type.kind}`);
    const { object } = this.#decoder.decodeParsed({ value: structuredClone(sent) }, { expected: type, schema });
    object.metadata ??= {};
    if (type.namespaced) object.metadata.namespace ??= "default";
    // What admission has done by then.
    if (type.kind === "Pod") (object as { spec?: Record<string, unknown> }).spec ??= {};
    if (type.kind === "Pod")
      Object.assign((object as unknown as { spec: object }).spec, { serviceAccountName: "default" });
    applyDefaults(object, schema);
    type.strategy.default?.(object);
    return object;
  }

  async #judged(
    type: ResourceType,
    object: KubeObject,
    judge: (context: WriteContext) => Promise<void>,
  ): Promise<Outcome> {
    const warnings: string[] = [];
    const { namespace = "" } = object.metadata;
    const warn = (text: string) => void warnings.push(text);
    try {
      await judge({ cluster: this.#cluster, caller: SYSTEM, namespace, dryRun: true, warn });
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return { errors: causesOf(error.status), warnings };
    }
    const schema = type.schema(type.version);
    if (schema !== undefined) settleEmptyFields(object, schema);
    return { object, warnings };
  }
}

/** What a Status says against an object, each thing once. */
export function causesOf(status: { message?: string; details?: { causes?: readonly object[] } }): string[] {
  const causes = status.details?.causes as { reason?: string; field?: string; message?: string }[] | undefined;
  if (causes === undefined || causes.length === 0) return [status.message ?? ""];
  return [...new Set(causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`))].sort();
}
