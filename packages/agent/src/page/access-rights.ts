import { group } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { type Impersonation, type KubeClient, SubjectAccessReview } from "@fjord/kube";
import type { Rights } from "./model/visible.ts";

/** A right that RBAC has or has not given. */
interface Question {
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly verb?: string;
}

/** How long an answer is believed. */
const FRESH_MS = 30_000;
const AT_ONCE = 8;

/** What a viewer may list, by asking the API about that user. Answers are kept for half a minute. */
export class AccessRights {
  readonly #client: KubeClient;
  readonly #who: Impersonation;
  readonly #clock: Clock;
  readonly #answers = new Map<string, { readonly allowed: boolean; readonly at: number }>();

  constructor(client: KubeClient, who: Impersonation, clock: Clock) {
    this.#client = client;
    this.#who = who;
    this.#clock = clock;
  }

  /** Asks what is not known or too old, then gives answers out of memory. */
  async rights(namespaces: Iterable<string>, signal: AbortSignal): Promise<Rights> {
    const everywhere = [
      ...["sites", "peerings", "contracts"].map((resource): Question => ({ group, resource })),
      ...["nodes", "pods", "events"].map((resource): Question => ({ group: "", resource })),
    ];
    await this.#ask(everywhere, signal);
    const narrow = ["pods", "events"].filter((resource) => !this.#has({ group: "", resource }));
    const all = [...namespaces];
    const named = narrow.flatMap((resource) => all.map((namespace): Question => ({ group: "", resource, namespace })));
    await this.#ask(named, signal);
    const within = (resource: string) => (namespace: string) =>
      this.#has({ group: "", resource }) || (namespace !== "" && this.#has({ group: "", resource, namespace }));
    return {
      sites: this.#has({ group, resource: "sites" }),
      peerings: this.#has({ group, resource: "peerings" }),
      contracts: this.#has({ group, resource: "contracts" }),
      nodes: this.#has({ group: "", resource: "nodes" }),
      pods: within("pods"),
      events: within("events"),
    };
  }

  /** Whether the user may do this, asked now. */
  async may(question: Question, signal: AbortSignal): Promise<boolean> {
    this.#answers.delete(keyOf(question));
    await this.#ask([question], signal);
    return this.#has(question);
  }

  #has(question: Question): boolean {
    return this.#answers.get(keyOf(question))?.allowed ?? false;
  }

  async #ask(questions: readonly Question[], signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const due = questions.filter((question) => {
      const answer = this.#answers.get(keyOf(question));
      return answer === undefined || now - answer.at > FRESH_MS;
    });
    for (let from = 0; from < due.length; from += AT_ONCE)
      await Promise.all(due.slice(from, from + AT_ONCE).map((question) => this.#review(question, signal)));
  }

  async #review(question: Question, signal: AbortSignal): Promise<void> {
    const { verb = "list", namespace, ...rest } = question;
    const { user, groups = [] } = this.#who;
    const resourceAttributes = { ...rest, verb, ...(namespace !== undefined && { namespace }) };
    const review: SubjectAccessReview = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      metadata: {},
      spec: { user, groups: [...groups], resourceAttributes },
    };
    const { status } = await this.#client.create(SubjectAccessReview, review, { signal });
    this.#answers.set(keyOf(question), { allowed: status?.allowed === true, at: this.#clock.now() });
  }
}

function keyOf({ group: apiGroup, resource, namespace = "", verb = "list" }: Question): string {
  return `${verb} ${apiGroup}/${resource} ${namespace}`;
}
