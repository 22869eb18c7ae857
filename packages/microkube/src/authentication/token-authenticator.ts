import type { Caller } from "../cluster.ts";

export interface TokenOwner {
  readonly caller: Caller;
  /** Those of the asked-for audiences that the token is for; undefined where its kind knows none. */
  readonly audiences?: readonly string[];
}

/** Knows one kind of bearer tokens. */
export interface TokenAuthenticator {
  /**
   * undefined: no token of this kind. Throws an `Error` for one of this kind that does not hold. `audiences` are those
   * that the token has to be for, one of them at least. @default the API server's
   */
  authenticateToken(token: string, audiences?: readonly string[]): TokenOwner | undefined;
}

/** Asks one after the other; the first that knows the token decides. */
export function anyTokenAuthenticator(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    authenticateToken(token, audiences) {
      const problems: string[] = [];
      for (const authenticator of authenticators) {
        try {
          const owner = authenticator.authenticateToken(token, audiences);
          if (owner !== undefined) return owner;
        } catch (error) {
          problems.push((error as Error).message);
        }
      }
      if (problems.length > 0) throw new Error(problems.length === 1 ? problems[0] : `[${problems.join(", ")}]`);
      return undefined;
    },
  };
}
