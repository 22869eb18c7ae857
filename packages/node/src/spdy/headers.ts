import { SpdyProtocol } from "./errors.ts";

/** Lower-case names; several values of one name stand in one text, separated by NUL. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** A block of names and values as it is before compression. */
export function encodeHeaders(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const parts = [uint32(entries.length)];
  for (const [name, value] of entries) {
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text, "utf8");
      parts.push(uint32(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

export function decodeHeaders(block: Buffer): SpdyHeaders {
  const headers: Record<string, string> = Object.create(null);
  let offset = 0;
  const number = () => {
    if (offset + 4 > block.length) throw new SpdyProtocol({ problem: "a header block ends too soon" });
    offset += 4;
    return block.readUInt32BE(offset - 4);
  };
  const text = () => {
    const end = number() + offset;
    if (end > block.length) throw new SpdyProtocol({ problem: "a header block ends too soon" });
    const value = block.toString("utf8", offset, end);
    offset = end;
    return value;
  };
  const count = number();
  // Each takes eight bytes at least, so that a count beyond the block is found out by its end.
  for (let i = 0; i < count; i++) {
    const name = text();
    const value = text();
    if (name === "" || name !== name.toLowerCase() || name in headers)
      throw new SpdyProtocol({ problem: "a header's name is empty, not in lower case, or there twice" });
    headers[name] = value;
  }
  if (offset !== block.length) throw new SpdyProtocol({ problem: "a header block goes on after its last header" });
  return headers;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
