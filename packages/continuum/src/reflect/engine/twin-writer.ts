import { createHash } from "node:crypto";
import { ORIGIN_UID_LABEL } from "@fjord/api";
import { apiVersionOf, type KubeObject } from "@fjord/base";
import { isAlreadyExists, isConflict, isInvalid, isNotFound, type KubeClient } from "@fjord/kube";
import type { Body, ReflectedKind } from "../reflected-kind.ts";
import { covers, difference } from "./difference.ts";
import { isOfEarlier, seenMetadata, type TwinMetadata } from "./twin-metadata.ts";

/** What a twin is to be. */
export interface WantedTwin {
  readonly namespace: string;
  readonly name: string;
  readonly metadata: TwinMetadata;
  readonly body: Body;
}

/** What was done to a twin. `Collision`: an object of its name is there that is not the own site's. `Kept`: its original is there after all. */
export type Alignment<T> =
  | { readonly done: "None" | "Deleted" | "Collision" | "Leaving" | "Kept" }
  | { readonly done: "Created" | "Patched" | "Found"; readonly twin: T };

/** What must be known of a kind to write its twins. */
export type WrittenKind<T extends KubeObject> = Pick<
  ReflectedKind<T>,
  "kind" | "seen" | "amended" | "modest" | "lasting"
>;

const FIELD_MANAGER = "fjord-reflect";
/** A provider that answers each question differently is asked again later, not for ever. */
const STEPS = 3;

/** Writes the twins of one kind at one site: no more than differs, and nothing that is not the own site's. */
export class TwinWriter<T extends KubeObject> {
  readonly #client: KubeClient;
  readonly #kind: WrittenKind<T>;
  readonly #isOwn: (object: T) => boolean;
  readonly #hasOriginal: (twin: T, signal: AbortSignal) => Promise<boolean>;
  /**
   * By `namespace/name`: what was wanted, and what the provider made of it where that is not the same. Versions of Kubernetes
   * fill in different fields; without this they would be fought over for ever.
   */
  readonly #settled = new Map<string, string>();

  /** `hasOriginal`: whether what a twin is of is there, by the word of the API at home. Asked before one is removed that lasts. */
  constructor(
    client: KubeClient,
    kind: WrittenKind<T>,
    isOwn: (object: T) => boolean,
    hasOriginal: (twin: T, signal: AbortSignal) => Promise<boolean> = async () => false,
  ) {
    this.#client = client;
    this.#kind = kind;
    this.#isOwn = isOwn;
    this.#hasOriginal = hasOriginal;
  }

  async align(twin: T | undefined, wanted: WantedTwin | undefined, signal: AbortSignal): Promise<Alignment<T>> {
    if (wanted === undefined) return twin === undefined ? { done: "None" } : await this.#giveUp(twin, signal);
    if (twin?.metadata.deletionTimestamp !== undefined) return { done: "Leaving" };
    // Its end brings the next one's turn.
    if (twin !== undefined && isEarlier(twin, wanted)) return await this.#giveUp(twin, signal);
    return twin === undefined
      ? await this.#create(wanted, signal, STEPS)
      : await this.#correct(twin, wanted, signal, STEPS);
  }

  /** What lasts cannot be made again: the watch at home may be behind that of another agent, which has had the twin made. */
  async #giveUp(twin: T, signal: AbortSignal): Promise<Alignment<T>> {
    const isAsked = this.#kind.lasting === true && twin.metadata.deletionTimestamp === undefined;
    if (isAsked && (await this.#hasOriginal(twin, signal))) return { done: "Kept" };
    return await this.#remove(twin, signal);
  }

  async #remove({ metadata }: T, signal: AbortSignal): Promise<Alignment<T>> {
    const { name = "", namespace = "", uid = "" } = metadata;
    this.#settled.delete(`${namespace}/${name}`);
    if (metadata.deletionTimestamp !== undefined) return { done: "Leaving" };
    try {
      await this.#client.delete(this.#kind.kind, { name, namespace }, { preconditions: { uid }, signal });
    } catch (error) {
      // Gone already, or another of the same name by now.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return { done: "Deleted" };
  }

  async #create(wanted: WantedTwin, signal: AbortSignal, steps: number): Promise<Alignment<T>> {
    const { kind } = this.#kind;
    const { name, namespace, metadata, body } = wanted;
    const make = (fields: Body) => {
      const object = {
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
        metadata: { name, namespace, ...metadata },
        ...fields,
      };
      return this.#client.create(kind, object as unknown as T, { fieldManager: FIELD_MANAGER, signal });
    };
    try {
      const twin = await make(body).catch((error: unknown) => {
        const less = isInvalid(error) ? this.#kind.modest?.(body) : undefined;
        if (less === undefined) throw error;
        return make(less);
      });
      this.#settle(twin, wanted);
      return { done: "Created", twin };
    } catch (error) {
      if (!isAlreadyExists(error) || steps === 0) throw error;
    }
    const found = await this.#find(wanted, signal);
    if (found === undefined) return await this.#create(wanted, signal, steps - 1);
    if (!this.#isOwn(found)) return { done: "Collision" };
    // Made by an earlier run, before the watch could show it.
    if (found.metadata.deletionTimestamp !== undefined) return { done: "Leaving" };
    if (isEarlier(found, wanted)) return await this.#giveUp(found, signal);
    return await this.#correct(found, wanted, signal, steps - 1);
  }

  async #find({ name, namespace }: WantedTwin, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await this.#client.get(this.#kind.kind, { name, namespace }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  async #correct(twin: T, wanted: WantedTwin, signal: AbortSignal, steps: number): Promise<Alignment<T>> {
    const differing = this.#patchFor(twin, wanted);
    if (differing === undefined) return { done: "Found", twin };
    const patch = this.#kind.amended?.(differing, twin) ?? differing;
    const { name, namespace } = wanted;
    const { uid } = twin.metadata;
    // With the uid: what may stand in the twin's place by now is not to be written to.
    const body = { ...patch, metadata: { ...(patch.metadata as object | undefined), uid } };
    try {
      const key = { name, namespace };
      const options = { fieldManager: FIELD_MANAGER, signal };
      const patched = await this.#client.patch(this.#kind.kind, key, "merge", body, options);
      this.#settle(patched, wanted, differing);
      return { done: "Patched", twin: patched };
    } catch (error) {
      if (steps === 0) throw error;
      if (isNotFound(error) || isConflict(error)) return await this.#create(wanted, signal, steps - 1);
      if (!isInvalid(error) || this.#kind.lasting) throw error;
    }
    // Something in it cannot be changed: it is made anew.
    await this.#remove(twin, signal);
    return await this.#create(wanted, signal, steps - 1);
  }

  #patchFor(twin: T, wanted: WantedTwin): Body | undefined {
    const seen = this.#seen(twin, wanted);
    const patch = difference(seen, asFields(wanted));
    if (patch === undefined) return undefined;
    return this.#settled.get(keyOf(wanted)) === digest(seen, wanted) ? undefined : patch;
  }

  /** What differs from all or `patch` that was sent is the provider's doing. The rest was not in sight when the patch was made: it is still to be sent. */
  #settle(twin: T, wanted: WantedTwin, patch?: Body): void {
    const seen = this.#seen(twin, wanted);
    const left = difference(seen, asFields(wanted));
    if (left === undefined || (patch !== undefined && !covers(patch, left))) this.#settled.delete(keyOf(wanted));
    else this.#settled.set(keyOf(wanted), digest(seen, wanted));
  }

  #seen(twin: T, { metadata, body }: WantedTwin): Body {
    return { metadata: seenMetadata(twin.metadata, metadata), ...this.#kind.seen(twin, body) };
  }
}

function isEarlier(twin: KubeObject, { metadata }: WantedTwin): boolean {
  return isOfEarlier(twin, metadata.labels[ORIGIN_UID_LABEL]);
}

function asFields({ metadata, body }: WantedTwin): Body {
  return { metadata, ...body };
}

function keyOf({ namespace, name }: WantedTwin): string {
  return `${namespace}/${name}`;
}

function digest(seen: Body, { metadata, body }: WantedTwin): string {
  return createHash("sha256")
    .update(JSON.stringify([seen, metadata, body]))
    .digest("base64url")
    .slice(0, 22);
}
