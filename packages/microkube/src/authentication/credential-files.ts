import { chmod, mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

/** Where credentials are kept: a folder, or this process's memory only. */
export interface CredentialFiles {
  /** For messages. */
  readonly place: string;
  read(name: string): Promise<string | undefined>;
  /** What this has resolved for is there after a crash. */
  write(name: string, text: string): Promise<void>;
}

/** In a folder that only its owner can read. */
export async function credentialFolder(folder: string): Promise<CredentialFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  return {
    place: folder,
    async read(name) {
      try {
        return await readFile(join(folder, name), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async write(name, text) {
      const file = join(folder, name);
      const handle = await open(`${file}.new`, "w", 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(`${file}.new`, file);
    },
  };
}

export function credentialMemory(): CredentialFiles {
  const files = new Map<string, string>();
  return {
    place: "memory",
    read: async (name) => files.get(name),
    write: async (name, text) => void files.set(name, text),
  };
}
