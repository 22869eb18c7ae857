import type { Clock, Logger } from "@fjord/base";
import type { Credential, Credentials } from "./cluster-config.ts";

/** What looking up credentials needs from outside. */
export interface CredentialSources {
  /** What plugins inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Plugins may talk to whoever sits at standard input. @default false */
  readonly interactive?: boolean;
  /** How long a plugin may take. @default 60000, and 300000 where it may ask its user */
  readonly execTimeoutMs?: number;
}

/** Credentials that can also be written down: the fields of a kubeconfig's user entry that lead to them. */
export interface WritableCredentials extends Credentials {
  kubeconfigUser(): Record<string, unknown>;
}

export function isWritable(credentials: Credentials): credentials is WritableCredentials {
  return "kubeconfigUser" in credentials;
}

/** A token that never changes. */
export function bearerToken(token: string): WritableCredentials {
  return fixed({ authorization: `Bearer ${token}` }, { token });
}

export function basicAuthentication(username: string, password: string): WritableCredentials {
  const encoded = Buffer.from(`${username}:${password}`, "utf8").toString("base64");
  return fixed({ authorization: `Basic ${encoded}` }, { username, password });
}

function fixed(credential: Credential, user: Record<string, unknown>): WritableCredentials {
  return { current: async () => credential, rejected() {}, kubeconfigUser: () => user };
}
