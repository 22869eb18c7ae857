import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../binaries/cache.ts";
import type { Environment } from "../binaries/platform.ts";

const execute = promisify(execFile);

/** A kernel with its modules, as Debian builds it, which this machine need not run. */
export interface DebianKernel {
  readonly version: string;
  readonly image: string;
  /** The folder that holds `VERSION`. */
  readonly modules: string;
}

/** Unpacks Debian's newest kernel into the cache; nothing is installed. It needs apt-get, dpkg-deb, tar and busybox. */
export async function ensureDebianKernel(env: Environment): Promise<DebianKernel> {
  const { stdout } = await execute("apt-cache", ["depends", "linux-image-amd64"]);
  const [, name = "", version = ""] = /Depends: (linux-image-(\S+))/.exec(stdout) ?? [];
  if (version === "") throw new Error("Debian's package linux-image-amd64 names no kernel: run `apt-get update`");
  const parent = join(cacheDirectory(env), "kernels");
  const folder = join(parent, name);
  if (!existsSync(folder)) {
    await mkdir(parent, { recursive: true });
    const workshop = await mkdtemp(join(parent, "making-"));
    try {
      await execute("apt-get", ["download", "-o", "APT::Sandbox::User=root", name], { cwd: workshop });
      const [archive = ""] = (await readdir(workshop)).filter((file) => file.endsWith(".deb"));
      const made = join(workshop, "made");
      await mkdir(made);
      const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" ./boot ./lib/modules';
      await execute("sh", ["-c", unpack, "sh", join(workshop, archive), made]);
      await execute("busybox", ["depmod", "-b", made, version]);
      await rename(made, folder);
    } finally {
      await rm(workshop, { recursive: true, force: true });
    }
  }
  return { version, image: join(folder, "boot", `vmlinuz-${version}`), modules: join(folder, "lib/modules") };
}
