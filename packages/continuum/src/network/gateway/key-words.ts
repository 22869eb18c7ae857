/** What gateways say to each other over their link about keys of WireGuard, in hexadecimal. */
export interface KeyWord {
  /** `ask`: may I take this key? `known` and `unknown` answer that, `later` where the asked one takes another one itself. `take`: I do so now; `heard` answers that. */
  readonly says: "ask" | "known" | "unknown" | "later" | "take" | "heard";
  readonly key: string;
}

const SAYINGS = ["ask", "known", "unknown", "later", "take", "heard"] as const;
const KEY_BYTES = 32;

export function writeKeyWord({ says, key }: KeyWord): Buffer {
  return Buffer.concat([Buffer.from([SAYINGS.indexOf(says)]), Buffer.from(key, "hex")]);
}

/** Undefined where it is none. */
export function readKeyWord(bytes: Buffer): KeyWord | undefined {
  const says = SAYINGS[bytes[0] ?? SAYINGS.length];
  return says === undefined || bytes.length !== 1 + KEY_BYTES
    ? undefined
    : { says, key: bytes.subarray(1).toString("hex") };
}
