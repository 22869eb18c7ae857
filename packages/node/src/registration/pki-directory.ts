import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** A certificate (or chain) and its key, as PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** The folder with the node's keys: readable by nobody else, and every file in it written whole or not at all. */
export class PkiDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** A pair that was written before; undefined where there is none, or none that can be used. */
  async pair(name: string): Promise<CertificatePair | undefined> {
    const text = await this.read(`${name}.pem`);
    return text === undefined ? undefined : splitPair(text);
  }

  /** Both in one file, so that there is never a certificate beside the key of another. */
  async writePair(name: string, { cert, key }: CertificatePair): Promise<void> {
    await this.write(`${name}.pem`, `${cert.trimEnd()}\n${key.trimEnd()}\n`);
  }

  async read(file: string): Promise<string | undefined> {
    return readFile(join(this.path, file), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  }

  async write(file: string, text: string): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await chmod(this.path, 0o700);
    const temporary = join(this.path, `.${file}-${randomBytes(6).toString("hex")}`);
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(this.path, file));
  }

  async remove(file: string): Promise<void> {
    await rm(join(this.path, file), { force: true });
  }
}

/** The certificates and the key of a text that holds both, if they belong together. */
export function splitPair(text: string): CertificatePair | undefined {
  const blocks = text.match(/-----BEGIN ([A-Z ]+)-----[^-]*-----END \1-----\n?/g) ?? [];
  const key = blocks.find((block) => block.includes("PRIVATE KEY-----"));
  const cert = blocks.filter((block) => block.includes("BEGIN CERTIFICATE-----")).join("");
  try {
    if (key === undefined || !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return undefined;
    return { cert, key };
  } catch {
    // Half a file, or something else altogether: as if there were none.
    return undefined;
  }
}

/** When a pair begins and ceases to be good. */
export function validityOf({ cert }: CertificatePair): { from: number; to: number } {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  return { from: validFromDate.getTime(), to: validToDate.getTime() };
}

/** When to replace a pair: between seven and nine tenths of its life, so that nodes do not ask all at once. */
export function renewalTime(pair: CertificatePair, chance: number): number {
  const { from, to } = validityOf(pair);
  return from + (to - from) * (0.7 + 0.2 * chance);
}
