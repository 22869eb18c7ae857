/** Of IPv6 and UDP. */
const HEADERS = 48;
const MAGIC = 0x666a;
const HEAD = 8;
const ASK = 1;
const ANSWER = 2;
/** What others than probes have to say over the link. */
const WORD = 3;
/** In a question: the asker tries the direct way now, and the asked one is to do so too. Nobody waits for the answer to such a one. */
const TRYING = 1;
/** In a question: it says how long ago the asker last knew that both hear each other. Who is told so need not ask itself. */
const HEARD = 2;
const LONGEST_AGE_MS = 0xffff;

export interface ProbeQuestion {
  /** Of the whole packet. */
  readonly size: number;
  /** 0 where nobody waits for the answer. */
  readonly number: number;
  readonly isTrying?: boolean;
  readonly heardMsAgo?: number | undefined;
}

/** What gateways send each other over a link. */
export type ProbeMessage =
  | { readonly says: "question"; readonly isTrying: boolean; readonly heardMsAgo?: number }
  /** `size` is the whole packet's. */
  | { readonly says: "answer"; readonly number: number; readonly size: number }
  | { readonly says: "word"; readonly word: Buffer };

export function questionBytes({ size, number, isTrying = false, heardMsAgo }: ProbeQuestion): Buffer {
  const bytes = Buffer.alloc(Math.max(size - HEADERS, HEAD + 2));
  const isHeard = heardMsAgo !== undefined && heardMsAgo >= 0 && heardMsAgo <= LONGEST_AGE_MS;
  bytes.writeUInt16BE(MAGIC, 0);
  bytes.writeUInt8(ASK, 2);
  bytes.writeUInt8((isTrying ? TRYING : 0) | (isHeard ? HEARD : 0), 3);
  bytes.writeUInt32BE(number, 4);
  if (isHeard) bytes.writeUInt16BE(Math.round(heardMsAgo), HEAD);
  return bytes;
}

/** Of the same size as the question, so that nobody gets more than he sends. */
export function answerBytes(question: Buffer): Buffer {
  const bytes = Buffer.from(question);
  bytes.writeUInt8(ANSWER, 2);
  return bytes;
}

export function wordBytes(word: Buffer): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt16BE(MAGIC, 0);
  head.writeUInt8(WORD, 2);
  return Buffer.concat([head, word]);
}

/** Undefined where it is none. */
export function readProbeMessage(bytes: Buffer): ProbeMessage | undefined {
  if (bytes.length < HEAD || bytes.readUInt16BE(0) !== MAGIC) return undefined;
  const [kind, flags] = [bytes.readUInt8(2), bytes.readUInt8(3)];
  if (kind === ANSWER) return { says: "answer", number: bytes.readUInt32BE(4), size: bytes.length + HEADERS };
  if (kind === WORD) return { says: "word", word: bytes.subarray(HEAD) };
  if (kind !== ASK) return undefined;
  const isTold = (flags & HEARD) !== 0 && bytes.length >= HEAD + 2;
  return {
    says: "question",
    isTrying: (flags & TRYING) !== 0,
    ...(isTold && { heardMsAgo: bytes.readUInt16BE(HEAD) }),
  };
}
