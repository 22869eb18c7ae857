import { type Clock, describeError, type Logger } from "@fjord/base";
import type { Credential } from "./cluster-config.ts";
import type { WritableCredentials } from "./credentials.ts";
import { TokenFileUnusable } from "./errors.ts";
import { isHeaderSafe } from "./impersonation.ts";
import { readTextFile } from "./read-text-file.ts";
import { systemReason } from "./system-reason.ts";

const rereadAfterMs = 60_000;
const retryAfterMs = 5_000;

export interface TokenFileOptions {
  path: string;
  /** Who named the file, for messages. */
  where: string;
  clock: Clock;
  logger: Logger;
  /** Used while the file cannot be read. */
  token?: string;
}

/** A token that others rotate in a file: read again once a minute, and at once after the server refused it. */
export class TokenFile implements WritableCredentials {
  readonly #options: TokenFileOptions;
  #token: string | undefined;
  #readAgainAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<string> | undefined;

  constructor(options: TokenFileOptions) {
    this.#options = options;
    this.#token = options.token;
  }

  async current(): Promise<Credential> {
    if (this.#token === undefined || this.#options.clock.now() >= this.#readAgainAt) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return { authorization: `Bearer ${this.#token}` };
  }

  rejected(): void {
    this.#readAgainAt = Number.NEGATIVE_INFINITY;
  }

  kubeconfigUser(): Record<string, unknown> {
    return { tokenFile: this.#options.path };
  }

  async #read(): Promise<string> {
    const { path, where, clock, logger } = this.#options;
    try {
      this.#token = await readToken(path, where);
      this.#readAgainAt = clock.now() + rereadAfterMs;
    } catch (error) {
      // A rotation in progress must not stop a client whose token is still good.
      if (this.#token === undefined) throw error;
      logger.warn("keeping the token read earlier", { path, reason: describeError(error) });
      this.#readAgainAt = clock.now() + retryAfterMs;
    }
    return this.#token;
  }
}

async function readToken(path: string, where: string): Promise<string> {
  const text = await readTextFile(path).catch((error: unknown) => {
    throw new TokenFileUnusable({ where, path, reason: systemReason(error) }, { cause: error });
  });
  const token = text.trim();
  if (token === "") throw new TokenFileUnusable({ where, path, reason: "the file is empty" });
  if (!isHeaderSafe(token)) throw new TokenFileUnusable({ where, path, reason: "it holds more than one line" });
  return token;
}
