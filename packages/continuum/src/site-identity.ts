/** 26 lower-case characters of base32, derived from a site's public key. */
export type SiteId = string;

/** Whoever has proven to hold the key that an id is derived from. */
export interface PeerIdentity {
  readonly id: SiteId;
  /** The 32 bytes of the Ed25519 public key in base64. */
  readonly publicKey: string;
}

/** The own site's key. */
export interface SiteIdentity extends PeerIdentity {
  /** An Ed25519 signature in base64. */
  sign(bytes: Uint8Array): string;
}
