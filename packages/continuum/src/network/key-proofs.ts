import { createHmac, createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from "node:crypto";

/** So many are remembered. */
const MOST = 4_096;

/**
 * Proofs that a site has the private half of its WireGuard key. Of two keys either private half, with the other public one, leads to the same secret, which nobody else knows: who
 * shows what only that secret and the names of both sites give has one of the two, and is not the one that is shown it. It is of no use to anybody else.
 */
export class KeyProofs {
  readonly #known = new Map<string, string | undefined>();

  /** That `from` has its key, for `to`. Undefined where one of these is no key. */
  of(privateKey: string, publicKey: string, from: string, to: string): string | undefined {
    const key = JSON.stringify([privateKey, publicKey, from, to]);
    if (!this.#known.has(key)) {
      if (this.#known.size >= MOST) this.#known.clear();
      this.#known.set(key, proofOf(privateKey, publicKey, from, to));
    }
    return this.#known.get(key);
  }
}

function proofOf(privateKey: string, publicKey: string, from: string, to: string): string | undefined {
  try {
    const x = Buffer.from(publicKey, "base64").toString("base64url");
    const other = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
    const secret = diffieHellman({ privateKey: privateKeyObject(privateKey), publicKey: other });
    return createHmac("sha256", secret).update(`fjord link key ${from} ${to}`).digest("base64url");
  } catch {
    // Of no key, or of one with which every secret is the same, nothing can be proven.
    return undefined;
  }
}

/** The key of which a site has the private half in its Secret: the one that it is about to use, where it is. */
export function newestKey({
  publicKey,
  nextKey = publicKey,
}: {
  readonly publicKey: string;
  readonly nextKey?: string;
}): string {
  return nextKey;
}

/** Of a private half as WireGuard writes it. */
export function privateKeyObject(privateKey: string): KeyObject {
  // What stands before the 32 bytes of an X25519 key in PKCS #8 (RFC 8410).
  const der = Buffer.concat([
    Buffer.from("302e020100300506032b656e04220420", "hex"),
    Buffer.from(privateKey, "base64"),
  ]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}
