import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

type Json = Record<string, unknown>;

/** Signs tokens and knows its own again: ES256, compact form. */
export class TokenSigner {
  /** As Kubernetes derives it: the hash of the public key. */
  readonly keyId: string;
  readonly #private: KeyObject;
  readonly #public: KeyObject;
  readonly #header: string;

  /** `key` is a P-256 key in PEM. */
  constructor(key: string) {
    this.#private = createPrivateKey(key);
    this.#public = createPublicKey(this.#private);
    const spki = this.#public.export({ type: "spki", format: "der" });
    this.keyId = createHash("sha256").update(spki).digest("base64url");
    this.#header = encode({ alg: "ES256", kid: this.keyId });
  }

  sign(claims: Json): string {
    const content = `${this.#header}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(content), { key: this.#private, dsaEncoding: "ieee-p1363" });
    return `${content}.${signature.toString("base64url")}`;
  }

  /** Whether this key has signed the token; says nothing of its claims. */
  hasSigned(token: string): boolean {
    const end = token.lastIndexOf(".");
    const header = decode(token.slice(0, token.indexOf(".")));
    if (header?.alg !== "ES256") return false;
    const signature = Buffer.from(token.slice(end + 1), "base64url");
    const key = { key: this.#public, dsaEncoding: "ieee-p1363" } as const;
    return signature.length === 64 && verify("sha256", Buffer.from(token.slice(0, end)), key, signature);
  }

  /** For relying parties: one key of a JSON Web Key Set. */
  get webKey(): Json {
    const { kty, crv, x, y } = this.#public.export({ format: "jwk" });
    return { use: "sig", kty, kid: this.keyId, crv, alg: "ES256", x, y };
  }
}

/** The claims of a token, unchecked; undefined for what is no token. */
export function claimsOf(token: string): Json | undefined {
  const parts = token.split(".");
  return parts.length === 3 && parts[1] !== undefined ? decode(parts[1]) : undefined;
}

const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString("base64url");

function decode(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
