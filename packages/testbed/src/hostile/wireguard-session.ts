import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from "node:crypto";
import { blake2s } from "./blake2s.ts";

const hash = (...parts: readonly Buffer[]) => createHash("blake2s256").update(Buffer.concat(parts)).digest();
const hmac = (key: Buffer, ...parts: readonly Buffer[]) =>
  createHmac("blake2s256", key).update(Buffer.concat(parts)).digest();
const INITIAL = hash(Buffer.from("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"));
const IDENTIFIER = Buffer.from("WireGuard v1 zx2c4 Jason@zx2c4.com");
const NOTHING = Buffer.alloc(0);
/** What stands before a raw key in its usual forms. */
const PKCS8 = Buffer.from("302e020100300506032b656e04220420", "hex");
const SPKI = Buffer.from("302a300506032b656e032100", "hex");

/**
 * One end of WireGuard (https://www.wireguard.com/protocol/) that sends whatever it is given, and looks at nothing: how a peer may behave that means harm. It
 * begins; there is no timer in it.
 */
export class WireguardSession {
  readonly #private: Buffer;
  readonly #public: Buffer;
  readonly #remote: Buffer;
  readonly index = randomBytes(4).readUInt32LE();
  #ephemeral = generateKeyPairSync("x25519");
  #chain: Buffer = INITIAL;
  #hash: Buffer = NOTHING;
  #keys: { readonly send: Buffer; readonly receive: Buffer; readonly remoteIndex: number } | undefined;
  #counter = 0n;

  /** Keys in base64. */
  constructor(privateKey: string, remotePublicKey: string) {
    this.#private = Buffer.from(privateKey, "base64");
    this.#remote = Buffer.from(remotePublicKey, "base64");
    this.#public = createPublicKey(privateOf(this.#private)).export({ format: "der", type: "spki" }).subarray(-32);
  }

  get isUp(): boolean {
    return this.#keys !== undefined;
  }

  /** The first message: it opens a session where the other end knows the key. */
  initiation(now = Date.now()): Buffer {
    this.#ephemeral = generateKeyPairSync("x25519");
    const ephemeral = this.#ephemeral.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
    this.#chain = INITIAL;
    this.#hash = hash(hash(INITIAL, IDENTIFIER), this.#remote);
    [this.#chain] = derive(this.#chain, ephemeral);
    this.#hash = hash(this.#hash, ephemeral);
    const sealed = this.#seal(
      diffieHellman({ privateKey: this.#ephemeral.privateKey, publicKey: publicOf(this.#remote) }),
      this.#public,
    );
    const known = diffieHellman({ privateKey: privateOf(this.#private), publicKey: publicOf(this.#remote) });
    const stamp = this.#seal(known, tai64n(now));
    const begin = Buffer.alloc(8);
    begin.writeUInt32LE(1, 0);
    begin.writeUInt32LE(this.index, 4);
    const message = Buffer.concat([begin, ephemeral, sealed, stamp]);
    const mac1 = blake2s(message, { key: hash(Buffer.from("mac1----"), this.#remote), length: 16 });
    return Buffer.concat([message, mac1, Buffer.alloc(16)]);
  }

  /** Takes the answer; whether there is a session now. */
  answered(message: Buffer): boolean {
    if (message.length !== 92 || message.readUInt32LE(0) !== 2 || message.readUInt32LE(8) !== this.index) return false;
    const ephemeral = message.subarray(12, 44);
    [this.#chain] = derive(this.#chain, ephemeral);
    this.#hash = hash(this.#hash, ephemeral);
    for (const privateKey of [this.#ephemeral.privateKey, privateOf(this.#private)])
      [this.#chain] = derive(this.#chain, diffieHellman({ privateKey, publicKey: publicOf(ephemeral) }));
    const [chain, mixed, key] = derive(this.#chain, Buffer.alloc(32));
    this.#hash = hash(this.#hash, mixed);
    try {
      open(key, 0n, message.subarray(44, 60), this.#hash);
    } catch {
      // It answers an earlier message.
      return false;
    }
    const [send, receive] = derive(chain, NOTHING);
    this.#keys = { send, receive, remoteIndex: message.readUInt32LE(4) };
    this.#counter = 0n;
    return true;
  }

  /** A message that carries these bytes, whatever they are. */
  wrap(packet: Buffer): Buffer {
    if (this.#keys === undefined) throw new Error("there is no session yet");
    const begin = Buffer.alloc(16);
    begin.writeUInt32LE(4, 0);
    begin.writeUInt32LE(this.#keys.remoteIndex, 4);
    begin.writeBigUInt64LE(this.#counter, 8);
    const filled = Buffer.concat([packet, Buffer.alloc((16 - (packet.length % 16)) % 16)]);
    return Buffer.concat([begin, seal(this.#keys.send, this.#counter++, filled, NOTHING)]);
  }

  /** What a message carries; undefined where it is none of this session. */
  unwrap(message: Buffer): Buffer | undefined {
    if (this.#keys === undefined || message.length < 32 || message.readUInt32LE(0) !== 4) return undefined;
    if (message.readUInt32LE(4) !== this.index) return undefined;
    try {
      return open(this.#keys.receive, message.readBigUInt64LE(8), message.subarray(16), NOTHING);
    } catch {
      // Of another session, in whose place this one has come.
      return undefined;
    }
  }

  #seal(secret: Buffer, text: Buffer): Buffer {
    const [chain, key] = derive(this.#chain, secret);
    this.#chain = chain;
    const sealed = seal(key, 0n, text, this.#hash);
    this.#hash = hash(this.#hash, sealed);
    return sealed;
  }
}

function derive(chain: Buffer, input: Buffer): [Buffer, Buffer, Buffer] {
  const secret = hmac(chain, input);
  const one = hmac(secret, Buffer.from([1]));
  const two = hmac(secret, one, Buffer.from([2]));
  return [one, two, hmac(secret, two, Buffer.from([3]))];
}

function nonceOf(counter: bigint): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64LE(counter, 4);
  return nonce;
}

function seal(key: Buffer, counter: bigint, text: Buffer, data: Buffer): Buffer {
  const cipher = createCipheriv("chacha20-poly1305", key, nonceOf(counter), { authTagLength: 16 });
  cipher.setAAD(data, { plaintextLength: text.length });
  return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Buffer, counter: bigint, sealed: Buffer, data: Buffer): Buffer {
  const cipher = createDecipheriv("chacha20-poly1305", key, nonceOf(counter), { authTagLength: 16 });
  cipher.setAAD(data, { plaintextLength: sealed.length - 16 });
  cipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
}

const privateOf = (raw: Buffer) => createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: "der", type: "pkcs8" });
const publicOf = (raw: Buffer) => createPublicKey({ key: Buffer.concat([SPKI, raw]), format: "der", type: "spki" });

function tai64n(now: number): Buffer {
  const stamp = Buffer.alloc(12);
  stamp.writeBigUInt64BE(0x400000000000000an + BigInt(Math.floor(now / 1000)), 0);
  stamp.writeUInt32BE((now % 1000) * 1_000_000, 8);
  return stamp;
}
