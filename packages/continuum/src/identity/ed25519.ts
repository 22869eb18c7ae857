import { createPublicKey, type KeyObject, verify } from "node:crypto";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** What stands before the bytes of the key in its SubjectPublicKeyInfo (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/** The 32 bytes of the public part of an Ed25519 key. */
export function rawPublicKey(key: KeyObject): Buffer {
  const publicKey = key.type === "public" ? key : createPublicKey(key);
  return publicKey.export({ type: "spki", format: "der" }).subarray(-KEY_BYTES);
}

/** Whether whoever holds the key has signed these bytes. Both are base64; whatever is not is no signature. */
export function verifySignature(publicKey: string, bytes: Uint8Array, signature: string): boolean {
  const key = decode(publicKey, KEY_BYTES);
  const value = decode(signature, SIGNATURE_BYTES);
  if (key === undefined || value === undefined) return false;
  const spki = Buffer.concat([SPKI_PREFIX, key]);
  return verify(null, bytes, createPublicKey({ key: spki, type: "spki", format: "der" }), value);
}

/** Of exactly so many bytes and written in the one way that there is, so that no two texts are one signature. */
function decode(text: string, length: number): Buffer | undefined {
  if (typeof text !== "string" || text.length > 128) return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === length && bytes.toString("base64") === text ? bytes : undefined;
}
