import { FjordError } from "@fjord/base";
import type { Refusal } from "./protocol.ts";

/** A site's no to another: thrown by a route to refuse, and by `RemoteSite.call` where the other side did. */
export class PeerRefused extends FjordError {
  static readonly code = "PEER_REFUSED";
  static readonly template = "{message} ({refusal})";
  static readonly advice =
    "The other site understood the request and does not do it, for the reason in parentheses. What to do is its owner's to say.";

  /** What goes over the wire; `refusal.code` is the word to branch on. */
  readonly refusal: Refusal;
  /** Status of the HTTP answer. */
  readonly statusCode: number;

  constructor(refusal: Refusal, statusCode = 403) {
    super(PeerRefused.code, `${refusal.message} (${refusal.code})`);
    this.name = "PeerRefused";
    this.refusal = refusal;
    this.statusCode = statusCode;
  }
}
