import { createPrivateKey, generateKeyPair, type KeyObject, sign } from "node:crypto";
import type { SiteId, SiteIdentity } from "../site-identity.ts";
import { rawPublicKey } from "./ed25519.ts";
import { IdentityDamaged } from "./errors.ts";
import { siteIdOf } from "./site-id.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { promisify } = process.getBuiltinModule("node:util");

/** A site's Ed25519 key: whoever holds it is the site. */
export class SiteKey implements SiteIdentity {
  readonly id: SiteId;
  readonly publicKey: string;
  /** For certificates. */
  readonly privateKey: KeyObject;

  private constructor(privateKey: KeyObject) {
    const raw = rawPublicKey(privateKey);
    this.id = siteIdOf(raw);
    this.publicKey = raw.toString("base64");
    this.privateKey = privateKey;
  }

  static async generate(): Promise<SiteKey> {
    const { privateKey } = await promisify(generateKeyPair)("ed25519");
    return new SiteKey(privateKey);
  }

  /** From PKCS #8; `source` names where the text is from, for the error. */
  static fromPem(pem: string, source: string): SiteKey {
    let key: KeyObject;
    try {
      key = createPrivateKey(pem);
    } catch {
      // The cause would quote what may be part of a key.
      throw new IdentityDamaged({ source, problem: "it holds no private key in PEM" });
    }
    if (key.asymmetricKeyType !== "ed25519") {
      throw new IdentityDamaged({ source, problem: `its key is of the type ${key.asymmetricKeyType}, not ed25519` });
    }
    return new SiteKey(key);
  }

  toPem(): string {
    return this.privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  }

  sign(bytes: Uint8Array): string {
    return sign(null, bytes, this.privateKey).toString("base64");
  }
}
