import { Export } from "@fjord/api";
import { type Cache, type Controller, done, type Result, type Runnable, sameContent, watches } from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { type ExportStatus, exportStatuses } from "./export-entries.ts";
import { OwnObjects } from "./own-objects.ts";

/** All of them at once, as no two may have the same address. */
const ALL = { name: "all" };

/** Gives each Export an address that stands for it on links, and says where that leads. */
export class ExportController implements Runnable {
  readonly name = "exports";
  readonly needsLeaderElection = true;
  readonly #home: Pick<Home, "clock">;
  readonly #cache: Cache<Export>;
  readonly #exports: OwnObjects<Export>;
  readonly #controller: Controller;

  constructor(home: Home) {
    this.#home = home;
    this.#cache = home.caches.open(Export).cache;
    this.#exports = new OwnObjects(home.client, Export, this.#cache);
    this.#controller = homeController(home, {
      name: this.name,
      sources: [watches(this.#cache, { map: () => [ALL] })],
      concurrency: 1,
      backoff: { initial: 100, max: 5_000 },
      reconcile: (_, { signal }) => this.#reconcile(signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    await this.#controller.run(stop, abandon);
  }

  async #reconcile(signal: AbortSignal): Promise<Result> {
    const names = this.#cache.list().map(({ metadata }) => metadata.name ?? "");
    const exports = names.flatMap((name) => this.#exports.get(name) ?? []);
    const statuses = exportStatuses(exports, this.#home.clock.now());
    for (const each of exports) {
      const status = statuses.get(each.metadata.name ?? "");
      if (status !== undefined && !isSaid(each.status, status)) await this.#exports.say(each, status, signal);
    }
    return done();
  }
}

function isSaid(before: ExportStatus | undefined, now: ExportStatus): boolean {
  return sameContent(before ?? {}, now);
}
