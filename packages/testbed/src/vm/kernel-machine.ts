import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { which } from "../binaries/find.ts";
import { thisHost } from "../binaries/node-packages.ts";
import { cpioArchive } from "./cpio.ts";
import { type DebianKernel, ensureDebianKernel } from "./debian-kernel.ts";

export interface KernelMachineOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Hears each line that is printed there. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What has to be there before the rest can be found: the way to this machine's files, and a place for what is written. */
const FIRST_MODULES = [
  "virtio",
  "virtio_ring",
  "virtio_pci_legacy_dev",
  "virtio_pci_modern_dev",
  "virtio_pci",
  "netfs",
  "fscache",
  "9pnet",
  "9pnet_virtio",
  "9p",
  "overlay",
];

/**
 * Runs a command on another kernel: that of Debian, in a machine that qemu plays. It sees this machine's files, and what it writes
 * is gone with it. Resolves with its exit code; undefined where the machine ended before.
 */
export async function runOnDebianKernel(
  command: readonly string[],
  options: KernelMachineOptions,
): Promise<number | undefined> {
  const kernel = await ensureDebianKernel(process.env);
  const directory = await mkdtemp(join(tmpdir(), "fjord-vm-"));
  try {
    const initrd = join(directory, "initrd");
    await writeFile(initrd, await firstRoot(kernel, command, options));
    return await play(kernel, initrd, options);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function play(
  { image }: DebianKernel,
  initrd: string,
  { onLine, signal }: KernelMachineOptions,
): Promise<number | undefined> {
  const share = "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap";
  const args = ["-accel", "tcg", "-cpu", "max", "-m", "4096", "-smp", "2", "-nographic", "-no-reboot", "-nodefaults"];
  args.push("-serial", "stdio", "-kernel", image, "-initrd", initrd, "-virtfs", share);
  args.push("-append", "console=ttyS0 quiet loglevel=3 panic=-1");
  const child = spawn("qemu-system-x86_64", args, { stdio: ["ignore", "pipe", "pipe"], ...(signal && { signal }) });
  let code: number | undefined;
  createInterface(child.stdout).on("line", (line) => {
    const ended = ENDED.exec(line)?.[1];
    if (ended !== undefined) code = Number(ended);
    onLine?.(line);
  });
  createInterface(child.stderr).on("line", (line) => onLine?.(line));
  await new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve());
  });
  return code;
}

const ENDED = /^fjord-vm: ended with (\d+)/;

/** The first root: a shell, the modules that it needs, and what it does. */
async function firstRoot(
  { version, modules }: DebianKernel,
  command: readonly string[],
  { cwd, env = {} }: KernelMachineOptions,
): Promise<Buffer> {
  const busybox = which("busybox", process.env, thisHost().programFolders) ?? "/bin/busybox";
  const folder = (path: string) => ({ path, mode: 0o40755 });
  const entries = ["bin", "modules", "proc", "sys", "dev", "host", "written", "root"].map(folder);
  const paths = moduleFiles(await readFile(join(modules, version, "modules.dep"), "utf8"));
  const first = FIRST_MODULES.filter((name) => paths.has(name));
  const files = await Promise.all(
    first.map(async (name) => ({
      path: `modules/${name}`,
      mode: 0o100644,
      content: await readFile(join(modules, version, paths.get(name) ?? "")),
    })),
  );
  const program = { path: "bin/busybox", mode: 0o100755, content: await readFile(busybox) };
  const variables = Object.entries({ PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/root", ...env });
  const inside = [
    ...variables.map(([name, value]) => `export ${name}=${quoted(value)}`),
    "ip link set dev lo up",
    `cd ${quoted(cwd)}`,
    command.map(quoted).join(" "),
    'echo "fjord-vm: ended with $?"',
  ];
  const init = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for name in ${first.join(" ")}; do insmod /modules/$name; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=262144 host /host
mount -t tmpfs tmp /written; mkdir /written/upper /written/work
mount -t overlay -o lowerdir=/host,upperdir=/written/upper,workdir=/written/work all /root
for name in proc sys dev; do mount --bind /$name /root/$name; done
ln -s /proc/self/fd /dev/fd; mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs run /root/run
mkdir -p /sbin /lib/modules/${version}; mount --bind /host${join(modules, version)} /lib/modules/${version}
# The kernel asks for it by this name, in this root.
ln -s /bin/busybox /sbin/modprobe
for name in crc32c_generic tun; do modprobe $name; done
chroot /root /bin/sh -c ${quoted(inside.join("\n"))}
poweroff -f
`;
  return cpioArchive([...entries, program, ...files, { path: "init", mode: 0o100755, content: Buffer.from(init) }]);
}

/** Where modules are, by name. */
function moduleFiles(dependencies: string): Map<string, string> {
  const paths = dependencies.split("\n").map((line) => line.slice(0, line.indexOf(":")));
  return new Map(paths.map((path) => [path.slice(path.lastIndexOf("/") + 1).replace(/\.ko.*$/, ""), path]));
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
