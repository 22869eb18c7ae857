import type { Contract } from "@fjord/api";
import type { SiteIdentity } from "../site-identity.ts";
import { canonicalJson } from "./canonical-json.ts";
import { verifySignature } from "./ed25519.ts";

type Terms = Contract["spec"]["terms"];

/** A site's signature over the terms of a contract, in base64. */
export function signTerms(identity: SiteIdentity, terms: Terms): string {
  return identity.sign(Buffer.from(canonicalJson(terms)));
}

/** Whether the holder of the key (base64) signed exactly these terms. */
export function verifyTerms(publicKey: string, terms: Terms, signature: string): boolean {
  return verifySignature(publicKey, Buffer.from(canonicalJson(terms)), signature);
}
