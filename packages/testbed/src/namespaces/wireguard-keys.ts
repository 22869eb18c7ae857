import { generateKeyPairSync } from "node:crypto";

/** A pair of keys for WireGuard, in base64. */
export function wireguardKeys(): { private: string; public: string } {
  const { privateKey, publicKey } = generateKeyPairSync("x25519");
  const raw = (key: Buffer) => key.subarray(-32).toString("base64");
  return {
    private: raw(privateKey.export({ format: "der", type: "pkcs8" })),
    public: raw(publicKey.export({ format: "der", type: "spki" })),
  };
}
