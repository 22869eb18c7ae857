import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Blob {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** An image as registries keep it: blobs by their digests, the manifest among them. */
export interface RegistryImage {
  readonly manifest: string;
  readonly blobs: ReadonlyMap<string, Blob>;
}

const types = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
};

/** An image of the machine's static busybox that is like no other: whatever a runtime has already must be fetched again. */
export async function uniqueImage(busybox: string): Promise<RegistryImage> {
  const blobs = new Map<string, Blob>();
  const store = (type: string, bytes: Uint8Array) => {
    const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    blobs.set(digest, { type, bytes });
    return { mediaType: type, digest, size: bytes.length };
  };
  const layer = store(types.layer, await uniqueLayer(busybox));
  const config = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Env: ["PATH=/bin"], WorkingDir: "/", Cmd: ["sh", "-c", "exec sleep 1000"] },
    rootfs: { type: "layers", diff_ids: [layer.digest] },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: types.manifest,
    config: store(types.config, Buffer.from(JSON.stringify(config))),
    layers: [layer],
  };
  const { digest } = store(types.manifest, Buffer.from(JSON.stringify(manifest)));
  return { manifest: digest, blobs };
}

async function uniqueLayer(busybox: string): Promise<Uint8Array> {
  const root = await mkdtemp(join(tmpdir(), "fjord-image-"));
  try {
    for (const folder of ["bin", "etc", "tmp", "proc", "sys", "dev"]) await mkdir(join(root, folder));
    await copyFile(busybox, join(root, "bin/busybox"));
    for (const command of ["sh", "sleep", "cat", "mount"]) await symlink("busybox", join(root, "bin", command));
    await writeFile(join(root, "etc/unique"), randomBytes(1 << 20));
    const options = { encoding: "buffer", maxBuffer: 64 << 20 } as const;
    const { stdout } = await run("tar", ["--owner=0", "--group=0", "-C", root, "-cf", "-", "."], options);
    return stdout;
  } finally {
    await rm(root, { recursive: true });
  }
}
