import {
  againAfter,
  type Cache,
  type Controller,
  done,
  ifNotFound,
  isBeingDeleted,
  Namespace,
  type Result,
  type Runnable,
  Secret,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { IDENTITY_SECRET, KeyStore, nameIn, type StoredIdentity } from "./key-store.ts";

export interface IdentityKeeperOptions {
  readonly home: Home;
  readonly stored: Pick<StoredIdentity, "key" | "name">;
}

/** Fjord may be installed again under an agent that runs outside of the cluster. */
const UNINSTALLED_LOOK_MS = 10_000;

/**
 * Keeps the Secret with the site's key where somebody deletes it: the next start would make another key, and no peer would
 * know the site any more.
 */
export class IdentityKeeper implements Runnable {
  readonly name = "identity";
  readonly needsLeaderElection = true;
  readonly #options: IdentityKeeperOptions;
  readonly #secrets: Cache<Secret>;
  readonly #controller: Controller;
  /** By the Secret as it was last seen: an agent of another name may have come to lead. */
  #siteName: string;

  constructor(options: IdentityKeeperOptions) {
    this.#options = options;
    this.#siteName = options.stored.name;
    const { caches, namespace } = options.home;
    this.#secrets = caches.open(Secret, { namespace, fieldSelector: `metadata.name=${IDENTITY_SECRET}` }).cache;
    const seen = (secret: Secret) => {
      this.#siteName = nameIn(secret) ?? this.#siteName;
    };
    this.#secrets.addHandler({ onAdd: seen, onUpdate: (_, secret) => seen(secret) });
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [watches(this.#secrets, { when: ({ type }) => type === "delete" })],
      backoff: { initial: 100, max: 5_000 },
      reconcile: (_, { signal }) => this.#keep(signal),
    });
  }

  async run(stop: AbortSignal, abandon?: AbortSignal): Promise<void> {
    this.#controller.enqueue({ name: IDENTITY_SECRET, namespace: this.#options.home.namespace });
    await this.#controller.run(stop, abandon);
  }

  async #keep(signal: AbortSignal): Promise<Result> {
    const { home, stored } = this.#options;
    const { client, namespace, logger } = home;
    if (this.#secrets.get({ name: IDENTITY_SECRET, namespace }) !== undefined) return done();
    const place = await client.get(Namespace, { name: namespace }, { signal }).catch(ifNotFound);
    if (place === undefined || isBeingDeleted(place)) return againAfter(UNINSTALLED_LOOK_MS);
    if (await KeyStore.keep(client, namespace, { key: stored.key, name: this.#siteName }, signal))
      logger.warn("somebody has deleted the Secret with the site's key: it is written again", {
        secret: `${namespace}/${IDENTITY_SECRET}`,
        advice: "who wants another key ends all agents of the site first",
      });
    return done();
  }
}
