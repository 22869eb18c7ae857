const IV = new Uint32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);
const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
] as const;
const BLOCK = 64;

/** BLAKE2s (RFC 7693) with a key and an end of any length, which Node's own does not have and WireGuard's `mac1` needs. */
export function blake2s(data: Buffer, { key = Buffer.alloc(0), length = 32 } = {}): Buffer {
  const h = Uint32Array.from(IV);
  h[0] = (h[0] as number) ^ 0x01010000 ^ (key.length << 8) ^ length;
  const begin = key.length > 0 ? Buffer.concat([key, Buffer.alloc(BLOCK - key.length)]) : Buffer.alloc(0);
  const all = Buffer.concat([begin, data]);
  const blocks = Math.max(1, Math.ceil(all.length / BLOCK));
  for (let i = 0; i < blocks; i++) {
    const block = Buffer.alloc(BLOCK);
    all.copy(block, 0, i * BLOCK, (i + 1) * BLOCK);
    compress(h, block, Math.min((i + 1) * BLOCK, all.length), i === blocks - 1);
  }
  const digest = Buffer.alloc(32);
  for (const [i, word] of h.entries()) digest.writeUInt32LE(word, i * 4);
  return digest.subarray(0, length);
}

function compress(h: Uint32Array, block: Buffer, count: number, isLast: boolean): void {
  const v = new Uint32Array(16);
  v.set(h);
  v.set(IV, 8);
  v[12] = (v[12] as number) ^ count;
  if (isLast) v[14] = ~(v[14] as number);
  const at = (i: number) => v[i] as number;
  const mix = (a: number, b: number, c: number, d: number, x: number, y: number) => {
    v[a] = at(a) + at(b) + x;
    v[d] = turn(at(d) ^ at(a), 16);
    v[c] = at(c) + at(d);
    v[b] = turn(at(b) ^ at(c), 12);
    v[a] = at(a) + at(b) + y;
    v[d] = turn(at(d) ^ at(a), 8);
    v[c] = at(c) + at(d);
    v[b] = turn(at(b) ^ at(c), 7);
  };
  for (const order of SIGMA) {
    const word = (i: number) => block.readUInt32LE((order[i] as number) * 4);
    for (let i = 0; i < 4; i++) mix(i, i + 4, i + 8, i + 12, word(2 * i), word(2 * i + 1));
    for (let i = 0; i < 4; i++)
      mix(i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4), word(8 + 2 * i), word(9 + 2 * i));
  }
  for (let i = 0; i < 8; i++) h[i] = (h[i] as number) ^ at(i) ^ at(i + 8);
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
