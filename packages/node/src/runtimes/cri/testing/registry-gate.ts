import type { IncomingMessage } from "node:http";

/** Who may pull, and how they say who they are. */
export type RegistryAccess =
  | { readonly kind: "anyone" }
  | { readonly kind: "basic" | "bearer"; readonly users: Readonly<Record<string, string>> };

/** Checks who asks, as registries do: by a password, or by a token that is given for one. */
export class RegistryGate {
  readonly #access: RegistryAccess;
  readonly #origin: () => string;
  readonly #tokens = new Set<string>();

  constructor(access: RegistryAccess, origin: () => string) {
    this.#access = access;
    this.#origin = origin;
  }

  /** What to ask of whoever may not come in; undefined for who may. */
  challenge({ headers: { authorization = "" } }: IncomingMessage, repository: string): string | undefined {
    const access = this.#access;
    if (access.kind === "anyone") return undefined;
    if (access.kind === "basic") return this.#isUser(basic(authorization)) ? undefined : 'Basic realm="registry"';
    if (this.#tokens.has(authorization.replace(/^Bearer /, ""))) return undefined;
    return `Bearer realm="${this.#origin()}/token",service="registry",scope="repository:${repository}:pull"`;
  }

  /** A token for whoever has a right password, by form (OAuth) or by header. */
  token({ headers: { authorization = "" } }: IncomingMessage, form: URLSearchParams): string | undefined {
    const user = form.has("username") ? [form.get("username") ?? "", form.get("password") ?? ""] : basic(authorization);
    if (!this.#isUser(user)) return undefined;
    const token = `token-${this.#tokens.size}`;
    this.#tokens.add(token);
    return token;
  }

  #isUser([name = "", password]: readonly string[]): boolean {
    return this.#access.kind !== "anyone" && password !== undefined && this.#access.users[name] === password;
  }
}

function basic(authorization: string): string[] {
  const [, encoded = ""] = /^Basic (.+)$/.exec(authorization) ?? [];
  const [name = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return [name, password.join(":")];
}
