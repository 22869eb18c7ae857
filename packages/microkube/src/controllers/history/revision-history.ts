import type { Kind, KubeObject } from "@fjord/base";
import { type Cache, ControllerRevision, isAlreadyExists, type KubeClient, requestFor } from "@fjord/kube";
import { type LabelSelector, selects } from "../label-selector.ts";
import { unlessGone } from "../loop.ts";
import { controllerReference, isControlledBy, orphansOf } from "../ownership.ts";
import { sameValue } from "../same-value.ts";
import { writeFields } from "../status-writer.ts";
import { claim } from "../workload/claim.ts";
import type { PodTemplate } from "../workload/pod-state.ts";
import { canonical, templateHash } from "../workload/template-hash.ts";

/** The template that a revision holds. */
export function templateOf({ data }: ControllerRevision): PodTemplate {
  const { template = {} } = (data as { spec?: { template?: PodTemplate & { $patch?: string } } })?.spec ?? {};
  const { $patch: _, ...plain } = template as PodTemplate & { $patch?: string };
  return plain;
}

/**
 * As a strategic merge patch that brings the template back, which is how kubectl goes back to a revision. Its fields are
 * sorted, because servers and tools compare the very bytes.
 */
export function revisionData(template: PodTemplate): object {
  return JSON.parse(canonical({ spec: { template: { ...template, $patch: "replace" } } })) as object;
}

export function byRevision(revisions: readonly ControllerRevision[]): ControllerRevision[] {
  return revisions.toSorted(
    (a, b) => a.revision - b.revision || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1),
  );
}

export interface HistoryOwner extends KubeObject {
  spec?: { selector: LabelSelector; template: PodTemplate; revisionHistoryLimit?: number };
}

export interface HistoryOptions<T extends HistoryOwner> {
  readonly client: KubeClient;
  readonly kind: Kind<T>;
  /** With the index of controllers. */
  readonly revisions: Cache<ControllerRevision>;
  /** The label by which a revision shows its hash. */
  readonly hashLabel: string;
}

/** What a revision is of the owner's present template, and how often its name was taken. */
export interface Present {
  readonly all: readonly ControllerRevision[];
  readonly update: ControllerRevision;
  readonly collisions: number;
}

/** Keeps the templates that an owner has had, as ControllerRevisions. */
export class RevisionHistory<T extends HistoryOwner> {
  readonly #options: HistoryOptions<T>;

  constructor(options: HistoryOptions<T>) {
    this.#options = options;
  }

  /** Oldest first, those included that were nobody's. */
  async claim(owner: T, signal: AbortSignal): Promise<ControllerRevision[]> {
    const { client, kind, revisions } = this.#options;
    const { uid = "", namespace } = owner.metadata;
    const candidates = [
      ...revisions.byIndex("controller", uid),
      ...revisions.byIndex("controller", orphansOf(namespace)),
    ];
    const matches = ({ metadata }: ControllerRevision) => selects(owner.spec?.selector, metadata.labels);
    return byRevision(
      await claim(candidates, { client, kind: ControllerRevision, ownerKind: kind, owner, matches, signal }),
    );
  }

  /** The revision of the present template: the last one, an earlier one that is the last again, or a new one. */
  async present(
    owner: T,
    all: readonly ControllerRevision[],
    collisions: number,
    signal: AbortSignal,
  ): Promise<Present> {
    const template = owner.spec?.template ?? {};
    const last = all.at(-1);
    const equal = all.findLast((revision) => sameValue(templateOf(revision), template));
    if (equal !== undefined && equal === last) return { all, update: equal, collisions };
    const number = (last?.revision ?? 0) + 1;
    if (equal === undefined) return await this.#create(owner, all, number, collisions, signal);
    const update = await writeFields(this.#options.client, ControllerRevision, equal, { revision: number }, signal);
    return { all: byRevision([...all.filter((revision) => revision !== equal), update]), update, collisions };
  }

  async #create(
    owner: T,
    all: readonly ControllerRevision[],
    number: number,
    collisions: number,
    signal: AbortSignal,
  ): Promise<Present> {
    const { client } = this.#options;
    for (let tries = collisions; ; tries++) {
      const forged = this.#forge(owner, number, tries);
      try {
        const update = await client.create(ControllerRevision, forged, { signal });
        return { all: [...all, update], update, collisions: tries };
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const found = await unlessGone(client.get(ControllerRevision, requestFor(forged), { signal }));
        if (found === undefined) throw error;
        // Made before, and not yet in the cache.
        if (isControlledBy(found, owner) && sameValue(templateOf(found), owner.spec?.template)) {
          return { all: [...all, found], update: found, collisions: tries };
        }
      }
    }
  }

  #forge(owner: T, revision: number, collisions: number): ControllerRevision {
    const { kind, hashLabel } = this.#options;
    const { name = "", namespace, annotations } = owner.metadata;
    const template = owner.spec?.template ?? {};
    const hash = templateHash(template, collisions === 0 ? undefined : collisions);
    return {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        name: `${name.slice(0, 223)}-${hash}`,
        namespace,
        labels: { ...template.metadata?.labels, [hashLabel]: hash },
        ...(annotations && { annotations }),
        ownerReferences: [controllerReference(kind, owner)],
      },
      data: revisionData(template) as ControllerRevision["data"],
      revision,
    };
  }

  /** Forgets the oldest of those that nobody uses, beyond the limit. */
  async truncate(owner: T, all: readonly ControllerRevision[], live: ReadonlySet<string>, signal: AbortSignal) {
    const unused = all.filter(({ metadata }) => !live.has(metadata.name ?? ""));
    const limit = owner.spec?.revisionHistoryLimit ?? 10;
    for (const revision of unused.slice(0, Math.max(0, unused.length - limit))) {
      const preconditions = { uid: revision.metadata.uid };
      await unlessGone(
        this.#options.client.delete(ControllerRevision, requestFor(revision), { preconditions, signal }),
      );
    }
  }
}
