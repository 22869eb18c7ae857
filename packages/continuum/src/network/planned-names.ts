import type { AddressPlan, Link } from "@fjord/api";
import type { CalledRange } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { calledRanges } from "./address-plan.ts";
import { elsewhereNames, homeNames } from "./home-names.ts";
import type { IpRange } from "./ip-range.ts";
import type { Naming } from "./network-state.ts";
import type { OwnNetwork } from "./own-network.ts";
import type { OwnObjects } from "./own-objects.ts";
import type { PeerWord } from "./peer-word.ts";
import { parseCidrs } from "./ranges.ts";

export interface PlannedNamesOptions {
  readonly plans: Pick<OwnObjects<AddressPlan>, "get" | "names">;
  readonly links: Pick<OwnObjects<Link>, "get">;
  wordOf(site: SiteId): PeerWord;
}

/** What all plans together call others' ranges, and what peers say that they call them. */
export class PlannedNames {
  readonly #options: PlannedNamesOptions;

  constructor(options: PlannedNamesOptions) {
    this.#options = options;
  }

  /** What a plan may not use. */
  ofOthers(site: SiteId): IpRange[] {
    const { plans } = this.#options;
    return plans.names().flatMap((name) => {
      const plan = name === site ? undefined : plans.get(name);
      return plan === undefined ? [] : calledRanges(plan.spec);
    });
  }

  /** What consumers call what is here, and what is elsewhere: names of this site had better be others. */
  ofConsumers(): IpRange[] {
    const { plans, wordOf } = this.#options;
    const words = plans.names().flatMap((site) => {
      const word = wordOf(site);
      const calls = word === "unknown" ? [] : (word.facts?.calls ?? []);
      return [...(plans.get(site)?.spec.own ?? []), ...calls];
    });
    return parseCidrs(words.flatMap(({ called }) => called ?? []));
  }

  /** As consumer: what ranges of others are called here. */
  calls(sites: readonly SiteId[]): CalledRange[] {
    return sites.flatMap((site) =>
      (this.#options.plans.get(site)?.spec.peer ?? []).flatMap(({ range, called }) =>
        called === undefined ? [] : [{ site, range, called }],
      ),
    );
  }

  /** As provider: what a consumer calls otherwise. What it has said holds while it is silent. */
  ofHome(plan: AddressPlan["spec"], own: OwnNetwork, word: PeerWord): Naming[] {
    const { plans, links } = this.#options;
    const before = links.get(plan.site)?.spec.guests?.names;
    if (word === "unknown" && before !== undefined)
      return before.flatMap(({ range, called }) => (called === undefined ? [] : [{ range, called }]));
    const calls = word === "unknown" ? [] : (word.facts?.calls ?? []);
    const planOf = (site: SiteId) => {
      const spec = plans.get(site)?.spec;
      return spec?.introducedBy?.includes(plan.site) ? spec : undefined;
    };
    return homeNames(plan, own.taken, elsewhereNames(calls, planOf));
  }
}
