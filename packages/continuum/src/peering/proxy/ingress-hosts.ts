import { Ingress, type KubeClient } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { askedHosts } from "./asked-hosts.ts";
import { hostProblem } from "./host-policy.ts";
import { forbidden } from "./kube-refusal.ts";

export interface IngressHostsOptions {
  readonly client: Pick<KubeClient, "list">;
  /** Hosts that the owner lets consumers have; undefined where nothing is said of that. */
  readonly allowed: () => readonly string[] | undefined;
  readonly namespacesOf: (consumer: SiteId) => readonly string[];
}

const PAGE = 200;

/** Whose requests come to whom: a consumer has no host that another's Ingress has, and none that the owner keeps. */
export class IngressHosts {
  readonly #options: IngressHostsOptions;
  /** Taken by writes that others, which began to look meanwhile, may not see in the API. */
  readonly #claims = new Map<string, SiteId>();
  #underWay = 0;
  /** The end of the look that was begun last, and the one that follows it. */
  #last: Promise<void> = Promise.resolve();
  #next: Promise<readonly Held[]> | undefined;

  constructor(options: IngressHostsOptions) {
    this.#options = options;
  }

  /** Throws `KubeRefusal` for a host that the consumer may not have. To be told when the write is over. */
  async admit(consumer: SiteId, hosts: readonly string[]): Promise<() => void> {
    this.#underWay++;
    try {
      const taken = await this.#takenFrom(consumer);
      // Nothing is waited for from here to the claims.
      for (const [host, holder] of this.#claims) if (holder !== consumer) taken.add(host);
      const allowed = this.#options.allowed();
      for (const host of hosts) {
        const problem = hostProblem(host, allowed, taken);
        if (problem !== undefined) throw forbidden(problem);
      }
      for (const host of hosts) this.#claims.set(host, consumer);
    } catch (error) {
      this.#over();
      throw error;
    }
    return () => this.#over();
  }

  #over(): void {
    this.#underWay--;
    if (this.#underWay === 0) this.#claims.clear();
  }

  async #takenFrom(consumer: SiteId): Promise<Set<string>> {
    const held = await this.#look();
    const own = new Set(this.#options.namespacesOf(consumer));
    return new Set(held.filter(({ namespace }) => !own.has(namespace)).flatMap(({ hosts }) => hosts));
  }

  /** One at a time, which all share who came before it began: a consumer may write hundreds in a second. */
  #look(): Promise<readonly Held[]> {
    if (this.#next !== undefined) return this.#next;
    const before = this.#last;
    const look = async () => {
      await before;
      this.#next = undefined;
      return await this.#list();
    };
    const next = look();
    this.#next = next;
    this.#last = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  async #list(): Promise<Held[]> {
    const held: Held[] = [];
    let next: string | undefined;
    do {
      const page = await this.#options.client.list(Ingress, { limit: PAGE, ...(next && { continue: next }) });
      for (const each of page.items) held.push({ namespace: each.metadata.namespace ?? "", hosts: askedHosts(each) });
      next = page.metadata.continue;
    } while (next);
    return held;
  }
}

interface Held {
  readonly namespace: string;
  readonly hosts: readonly string[];
}
