import { closeSync, openSync, readSync } from "node:fs";

const ELF_MAGIC = 0x7f454c46;
const PROGRAM_INTERPRETER = 3;

/** Whether a file is a 64-bit Linux program that needs no dynamic loader, and so runs alone in an image. */
export function isStaticProgram(path: string): boolean {
  const head = Buffer.alloc(4096);
  const file = openSync(path, "r");
  try {
    readSync(file, head);
  } finally {
    closeSync(file);
  }
  if (head.readUInt32BE(0) !== ELF_MAGIC || head[4] !== 2 || head[5] !== 1) return false;
  const offset = Number(head.readBigUInt64LE(32));
  const size = head.readUInt16LE(54);
  const count = head.readUInt16LE(56);
  for (let i = 0; i < count; i++) {
    const at = offset + i * size;
    // The program headers follow the file header in practice; one that lies further away is no busybox.
    if (at + 4 > head.length) return false;
    if (head.readUInt32LE(at) === PROGRAM_INTERPRETER) return false;
  }
  return count > 0;
}
