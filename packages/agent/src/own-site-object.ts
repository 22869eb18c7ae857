import { newObject, Site } from "@fjord/api";
import type { Logger } from "@fjord/base";
import { KeyStore } from "@fjord/continuum/identity";
import { type ApiError, ifNotFound, isAlreadyExists, isConflict, type KubeClient } from "@fjord/kube";
import type { AgentOptions } from "./agent-options.ts";

export interface OwnSiteObjectOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "create" | "delete" | "apply">;
  readonly logger: Pick<Logger, "info">;
  /** Where the site's identity is kept. */
  readonly namespace: string;
  readonly name: string;
  readonly id: string;
  /** What the site was called before, where it is called otherwise now. */
  readonly formerName?: string;
  readonly endpoints: readonly string[];
  readonly tier?: AgentOptions["tier"];
}

const FIELD_MANAGER = "fjord-agent";

/**
 * Has the own Site say where and what it is; what its owner wrote there goes before what this process was started with.
 * A site that is called otherwise now keeps all that its owner said of it under its former name.
 */
export class OwnSiteObject {
  readonly #options: OwnSiteObjectOptions;
  /** What this process was started with. */
  readonly #said: Partial<Pick<Site["spec"], "endpoints" | "tier">>;
  #isTold = false;

  constructor(options: OwnSiteObjectOptions) {
    const { endpoints, tier } = options;
    this.#options = options;
    this.#said = { ...(endpoints.length > 0 && { endpoints: [...endpoints] }), ...(tier !== undefined && { tier }) };
  }

  async ensure(signal?: AbortSignal): Promise<void> {
    await this.#succeedFormer(signal);
    await this.#sayAll(signal);
  }

  /**
   * The same for who leads. One that is called otherwise than the site by now, as while a Deployment is rolled out, has a copy of its own until it ends: to take the
   * Site's name back would be undone by the next that leads, and without a Site there would be no word of the owner's.
   */
  async keep(signal?: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    const stored = await KeyStore.read(client, namespace, signal);
    if (stored === undefined || stored.name === name) return await this.ensure(signal);
    const site = await client.get(Site, { name: stored.name }, { signal }).catch(ifNotFound);
    if (site !== undefined) await this.#copy(site, signal);
    await this.#sayAll(signal);
  }

  async #sayAll(signal?: AbortSignal): Promise<void> {
    if (Object.keys(this.#said).length === 0) await this.#create({}, signal);
    else await this.#say(this.#said, signal);
  }

  /** Leaves out what the owner has said otherwise. */
  async #say(spec: Partial<Site["spec"]>, signal?: AbortSignal): Promise<void> {
    const { client, logger, name } = this.#options;
    try {
      await client.apply(Site, { metadata: { name }, spec }, { fieldManager: FIELD_MANAGER, signal });
    } catch (error) {
      const fields = isConflict(error) ? othersFields(error).filter((field) => field in spec) : [];
      if (fields.length === 0) throw error;
      if (!this.#isTold)
        logger.info("the own Site says otherwise than its agent was started with: that holds", { site: name, fields });
      this.#isTold = true;
      await this.#say(without(spec, fields), signal);
    }
  }

  /** Found by what the object says too, and not by the name alone: whoever renamed it may have died before coming here. */
  async #succeedFormer(signal?: AbortSignal): Promise<void> {
    const { client, name, id, formerName } = this.#options;
    const { items } = await client.list(Site, { signal });
    const former = items.filter(
      ({ metadata, spec, status }) =>
        metadata.name !== name &&
        spec.id === undefined &&
        (metadata.name === formerName || (status?.role === "Self" && status.id === id)),
    );
    for (const site of former) {
      await this.#copy(site, signal);
      const preconditions = { uid: site.metadata.uid ?? "" };
      try {
        await client.delete(Site, { name: site.metadata.name ?? "" }, { preconditions, signal }).catch(ifNotFound);
      } catch (error) {
        if (!isConflict(error)) throw error;
        // Another one has the name by now, as where an agent that is called so has made it again.
        return await this.#succeedFormer(signal);
      }
    }
  }

  /** What an agent said there is said anew: as a copy it would pass for the owner's word. */
  async #copy(site: Site, signal?: AbortSignal): Promise<void> {
    const agents = agentsFields(site).filter((field) => field in this.#said);
    await this.#create(without(site.spec, agents), signal);
  }

  /** Makes the own Site; one that is there is left as it is. */
  async #create(spec: Partial<Site["spec"]>, signal?: AbortSignal): Promise<void> {
    const { client, name } = this.#options;
    const site = newObject(Site, { metadata: { name }, spec });
    await client.create(Site, site, { signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
}

/** Of the spec, what somebody else has set. */
function othersFields({ details }: ApiError): string[] {
  return (details.causes ?? []).flatMap(({ field = "" }) => /^\.spec\.(\w+)/.exec(field)?.[1] ?? []);
}

/** Of the spec, what an agent has said, and nobody else. */
function agentsFields({ metadata }: Site): string[] {
  const entries = (metadata.managedFields ?? []) as readonly FieldsEntry[];
  const { true: agents = [], false: others = [] } = Object.groupBy(
    entries,
    ({ manager, operation }) => `${manager === FIELD_MANAGER && operation === "Apply"}` as const,
  );
  const fieldsOf = (some: readonly FieldsEntry[]) =>
    some.flatMap(({ fieldsV1 }) => Object.keys(fieldsV1?.["f:spec"] ?? {})).map((key) => key.slice("f:".length));
  const ofOthers = new Set(fieldsOf(others));
  return fieldsOf(agents).filter((field) => !ofOthers.has(field));
}

interface FieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly fieldsV1?: { readonly "f:spec"?: Readonly<Record<string, unknown>> };
}

function without<T extends object>(object: T, fields: readonly string[]): Partial<T> {
  return Object.fromEntries(Object.entries(object).filter(([field]) => !fields.includes(field))) as Partial<T>;
}
