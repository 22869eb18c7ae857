/** A file, folder or nothing else, of an archive that the kernel unpacks into its first root. */
export interface CpioEntry {
  readonly path: string;
  /** With the sort of file: 0o40755 of a folder, 0o100755 of a program. */
  readonly mode: number;
  readonly content?: Buffer;
}

/** An archive in the form `newc`. */
export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const pieces: Buffer[] = [];
  for (const [index, entry] of [...entries, { path: "TRAILER!!!", mode: 0 }].entries()) {
    const { path, mode, content = Buffer.alloc(0) } = entry as CpioEntry;
    const name = Buffer.from(`${path}\0`);
    const fields = [index + 1, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
    const header = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`;
    pieces.push(filled(Buffer.concat([Buffer.from(header), name])), filled(content));
  }
  return Buffer.concat(pieces);
}

/** Up to a multiple of four bytes. */
function filled(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
