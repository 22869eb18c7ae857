import { type Clock, describeError, type Kind } from "@fjord/base";
import { ApiError, isForbidden, isNotFound } from "@fjord/kube";
import { isCustomGroup, resourceOf } from "../../reflection-rules.ts";

/** An API server keeps events for an hour. */
const TELL_AGAIN_MS = 30 * 60_000;

/** That a site does not let the twins of a kind be listed. Once may be of a moment, as while it learns of a contract. */
export class ListRefusal {
  readonly #clock: Clock;
  #inARow = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #last: ApiError | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What it has answered at least twice, and nothing else since. */
  get answer(): ApiError | undefined {
    return this.#inARow > 1 ? this.#last : undefined;
  }

  /** Takes note of a failure of the list. Gives whether there is something to tell. */
  failed(error: unknown): boolean {
    const isRefusal = error instanceof ApiError && (isForbidden(error) || isNotFound(error));
    this.#inARow = isRefusal ? this.#inARow + 1 : 0;
    this.#last = isRefusal ? error : undefined;
    const now = this.#clock.now();
    if (this.answer === undefined || now < this.#toldAt + TELL_AGAIN_MS) return false;
    this.#toldAt = now;
    return true;
  }
}

/** What is to be done where a site lets a custom resource not be listed; nothing to say of Kubernetes' own kinds. */
export function refusalAdvice(kind: Pick<Kind, "group" | "plural">): string {
  if (!isCustomGroup(kind.group)) return "";
  return `; its owner has to serve ${resourceOf(kind)}, give it to the agent, and list it in spec.reflection of the own Site there`;
}

/** What a provider answers is shown to people: it is short, and nothing that a terminal would act on. */
export function readable(error: unknown): string {
  return describeError(error)
    .slice(0, 512)
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ");
}
