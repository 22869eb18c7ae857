import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const testImages = {
  busybox: "docker.io/library/busybox:1",
  /** Runs as user 1000 by itself. */
  user: "fjord.test/user:1",
  pause: "fjord.test/pause:1",
} as const;

const pauseCommand = 'trap "exit 0" TERM INT; while :; do /bin/busybox sleep 86400 & wait $!; done';

/** Writes an archive of the test images, made of the machine's static busybox, for `ctr images import`. */
export async function writeImageArchive(busybox: string, directory: string): Promise<string> {
  const root = join(directory, "image-root");
  for (const folder of ["bin", "etc", "tmp", "proc", "sys", "dev", "root"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await copyFile(busybox, join(root, "bin/busybox"));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nworker:x:1000:1000::/:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nworker:x:1000:\n");
  const { stdout } = await run(busybox, ["--list"]);
  for (const command of stdout.split("\n").filter((name) => name !== "" && name !== "busybox")) {
    await symlink("busybox", join(root, "bin", command));
  }
  const contents = join(directory, "image");
  await mkdir(contents);
  await run("tar", ["--owner=0", "--group=0", "-C", root, "-cf", join(contents, "layer.tar"), "."]);
  const layer = sha256(await readFile(join(contents, "layer.tar")));
  const configs = [
    { name: testImages.busybox, Cmd: ["sh"] },
    { name: testImages.user, Cmd: ["sh"], User: "1000" },
    { name: testImages.pause, Entrypoint: ["/bin/busybox", "sh", "-c", pauseCommand] },
  ];
  const manifest = [];
  for (const { name, ...config } of configs) {
    const text = JSON.stringify({
      architecture: process.arch === "x64" ? "amd64" : process.arch,
      os: "linux",
      config: { Env: ["PATH=/bin"], WorkingDir: "/", ...config },
      rootfs: { type: "layers", diff_ids: [`sha256:${layer}`] },
    });
    const file = `${sha256(Buffer.from(text))}.json`;
    await writeFile(join(contents, file), text);
    manifest.push({ Config: file, RepoTags: [name], Layers: ["layer.tar"] });
  }
  await writeFile(join(contents, "manifest.json"), JSON.stringify(manifest));
  const archive = join(directory, "images.tar");
  await run("tar", ["-C", contents, "-cf", archive, "."]);
  for (const used of [root, contents]) await rm(used, { recursive: true });
  return archive;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
