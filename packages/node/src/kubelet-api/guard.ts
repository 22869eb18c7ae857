import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { type Clock, describeError, systemClock } from "@fjord/base";
import { type AccessQuestion, accessQuestion, type User } from "./access.ts";
import { Forbidden, ReviewFailed, Unauthenticated } from "./errors.ts";
import { ReviewCache } from "./review-cache.ts";
import type { Reviewer } from "./reviewer.ts";
import { pathOf } from "./route.ts";

export interface GuardOptions {
  reviewer: Reviewer;
  /** Name of the Node object that access is asked for. */
  nodeName: string;
  clock?: Clock;
}

/** The longest token that is worth a question. */
const LONGEST_TOKEN = 16 * 1024;
const TOKEN_KNOWN_MS = 120_000;
const TOKEN_UNKNOWN_MS = 10_000;
const ALLOWED_MS = 60_000;
const DENIED_MS = 10_000;
/** Whoever comes with ever new tokens must not have the node flood the API server. */
const QUESTIONS_AT_ONCE = 50;

/** Lets nobody at the node whom the cluster has not confirmed: neither unknown users nor those without the right. */
export class Guard {
  readonly #options: GuardOptions;
  readonly #tokens: ReviewCache<User | undefined>;
  readonly #decisions: ReviewCache<boolean>;
  #questions = 0;

  constructor(options: GuardOptions) {
    this.#options = options;
    const clock = options.clock ?? systemClock;
    this.#tokens = new ReviewCache(clock, (user) => (user === undefined ? TOKEN_UNKNOWN_MS : TOKEN_KNOWN_MS));
    this.#decisions = new ReviewCache(clock, (allowed) => (allowed ? ALLOWED_MS : DENIED_MS));
  }

  /** Who asks, where they may; throws `Unauthenticated`, `Forbidden` or `ReviewFailed`. */
  async admit(request: IncomingMessage): Promise<User> {
    const user = certificateUser(request.socket as TLSSocket) ?? (await this.#tokenUser(request.headers.authorization));
    if (user === undefined) throw new Unauthenticated({});
    const question = accessQuestion(request.method ?? "", pathOf({ method: "", target: request.url ?? "" }));
    if (!(await this.#allowed(user, question))) {
      const subresources = question.subresources.join(" ");
      throw new Forbidden({ user: user.name, verb: question.verb, subresources });
    }
    return user;
  }

  async #tokenUser(header: string | undefined): Promise<User | undefined> {
    const token = /^bearer +([^\s]+)$/i.exec(header ?? "")?.[1];
    if (token === undefined || token.length > LONGEST_TOKEN) return undefined;
    const key = createHash("sha256").update(token).digest("base64");
    try {
      return await this.#tokens.get(key, () => this.#ask((reviewer) => reviewer.authenticate(token)));
    } catch (cause) {
      throw new ReviewFailed({ question: "whose token this is", reason: describeError(cause) }, { cause });
    }
  }

  async #allowed(user: User, { verb, subresources }: AccessQuestion): Promise<boolean> {
    for (const subresource of subresources) {
      const attributes = { verb, subresource, node: this.#options.nodeName };
      const key = JSON.stringify([user.name, user.uid, user.groups, user.extra, verb, subresource]);
      try {
        if (await this.#decisions.get(key, () => this.#ask((reviewer) => reviewer.authorize(user, attributes))))
          return true;
      } catch (cause) {
        const question = `whether ${user.name} may ${verb} nodes/${subresource}`;
        throw new ReviewFailed({ question, reason: describeError(cause) }, { cause });
      }
    }
    return false;
  }

  async #ask<T>(question: (reviewer: Reviewer) => Promise<T>): Promise<T> {
    if (this.#questions >= QUESTIONS_AT_ONCE) throw new Error(`${QUESTIONS_AT_ONCE} questions are open already`);
    this.#questions++;
    try {
      return await question(this.#options.reviewer);
    } finally {
      this.#questions--;
    }
  }
}

/** The user that a client certificate names, where the cluster's authority has signed it. */
export function certificateUser(socket: TLSSocket): User | undefined {
  if (socket.authorized !== true) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name = [subject?.CN ?? []].flat()[0];
  if (!name) return undefined;
  return { name, groups: [subject.O ?? []].flat().concat("system:authenticated") };
}
