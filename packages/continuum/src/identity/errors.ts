import { defineError, FjordError } from "@fjord/base";

export const IdentityDamaged = defineError(
  "IDENTITY_DAMAGED",
  "cannot use the site's identity in {source}: {problem}",
  "Restore the Secret from a backup. Only where there is none, delete it: the site then gets a new key and a new id, and has to be paired again with every peer.",
);

export const NotCanonical = defineError(
  "IDENTITY_NOT_CANONICAL",
  "cannot write a value as canonical JSON: {problem}",
  "Sign only what came from JSON.",
);

export type CertificateReason =
  | "CertificateMissing"
  | "Malformed"
  | "BadSignature"
  | "Expired"
  | "NotYetValid"
  | "WrongKey"
  | "SessionReused";

/** What a peer has shown does not prove who it is. */
export class CertificateRefused extends FjordError {
  static readonly code = "PEER_CERTIFICATE_REFUSED";
  static readonly template = "the peer has not proven who it is: {problem} ({reason})";
  static readonly advice =
    "NotYetValid and Expired: set the clocks of both sites. WrongKey: another site answers at that address, so correct the endpoint; where the peer has a new key, pair again. Else look at what stands between the two: TLS must reach the agent unopened.";

  readonly reason: CertificateReason;

  constructor(reason: CertificateReason, problem: string, options?: ErrorOptions) {
    super(CertificateRefused.code, `the peer has not proven who it is: ${problem} (${reason})`, options);
    this.name = "CertificateRefused";
    this.reason = reason;
  }
}

export const PeerUnreachable = defineError(
  "PEER_UNREACHABLE",
  "cannot connect to {endpoint}: {reason}",
  "Check that the address is right, that the agent there runs, and that no firewall is in between.",
);

export const EndpointRefused = defineError(
  "ENDPOINT_REFUSED",
  "cannot use the endpoint {endpoint}: {problem}",
  "Give an https URL of a host, and if need be a port and a path, of at most 256 characters, such as https://site.example:7443.",
);

export const TokenUnreadable = defineError(
  "PAIRING_TOKEN_UNREADABLE",
  "this is no pairing token: {problem}",
  "Copy all of what `fjord pair token` printed at the other site: one word that begins with fjord1.",
);

export const TokenWithoutEndpoints = defineError(
  "PAIRING_TOKEN_WITHOUT_ENDPOINTS",
  "cannot reach the site {site} that issued the token: it has no endpoints",
  "Let this site issue the token instead and redeem it there, with --both-ways where both are to consume; or give the Site there endpoints and make a new token.",
);

export const TokenOfOwnSite = defineError(
  "PAIRING_WITH_ITSELF",
  "cannot redeem the token: this site issued it itself",
  "The token is as good as before. Redeem it at the other site: was another --context meant, or another --kubeconfig?",
);

export const PairingFailed = defineError(
  "PAIRING_FAILED",
  "cannot redeem the token at site {site}: {reason}",
  "Check that the endpoints of the token can be reached from here. The token is good until it expires: try again.",
);

export const SiteNameTaken = defineError(
  "SITE_NAME_TAKEN",
  "cannot make a Site for {site}: every name that it could have is taken ({names})",
  "Rename or delete the Site objects of these names, or choose a name.",
);

export const SiteKnownOtherwise = defineError(
  "SITE_KNOWN_OTHERWISE",
  "cannot make a Site {name} for {site}: it is known here as {known} already",
  "Use the name that it has, or delete that Site first.",
);
