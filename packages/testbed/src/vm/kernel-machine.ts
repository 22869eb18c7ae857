import { spawn } from "node:child_process";
import { access, constants, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { which } from "../binaries/find.ts";
import { thisHost } from "../binaries/node-packages.ts";
import { cpioArchive } from "./cpio.ts";
import { type DebianKernel, ensureDebianKernel } from "./debian-kernel.ts";
import { moduleOrder } from "./module-order.ts";

export interface KernelMachineOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Hears each line that is printed there. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What has to be there before the rest can be found: the way to this machine's files, and a place for what is written. */
const FIRST_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];

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

/** What plays the machine, and for how long it may say nothing before it is given up. */
interface Player {
  readonly name: string;
  readonly args: readonly string[];
  readonly patienceMs: number;
}

/** Takes seconds. A machine that is itself lent may lend its processor in a way on which kernels do not start that know nothing of it. */
const PROCESSOR: Player = {
  name: "this machine's processor (/dev/kvm)",
  args: ["-accel", "kvm", "-cpu", "max,-arch-capabilities"],
  patienceMs: 30_000,
};
/** Takes minutes, and needs nothing. */
const PROGRAM: Player = { name: "qemu alone", args: ["-accel", "tcg", "-cpu", "max"], patienceMs: 180_000 };

async function play(kernel: DebianKernel, initrd: string, options: KernelMachineOptions): Promise<number | undefined> {
  const failed: string[] = [];
  for (const player of (await isProcessorLent()) ? [PROCESSOR, PROGRAM] : [PROGRAM]) {
    options.onLine?.(`fjord-vm: played by ${player.name}`);
    const { hasStarted, code } = await playBy(player, kernel, initrd, options);
    if (hasStarted || options.signal?.aborted) return code;
    failed.push(`by ${player.name} within ${player.patienceMs / 1000} s`);
    options.onLine?.(`fjord-vm: does not start ${failed.at(-1)}`);
  }
  throw new Error(`Debian's kernel ${kernel.version} does not start here, neither ${failed.join(" nor ")}`);
}

async function isProcessorLent(): Promise<boolean> {
  return await access("/dev/kvm", constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

async function playBy(
  { args: how, patienceMs }: Player,
  { image }: DebianKernel,
  initrd: string,
  { onLine, signal }: KernelMachineOptions,
): Promise<{ hasStarted: boolean; code: number | undefined }> {
  const share = "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap";
  const args = [...how, "-m", "4096", "-smp", "2", "-nographic", "-no-reboot", "-nodefaults"];
  args.push("-serial", "stdio", "-kernel", image, "-initrd", initrd, "-virtfs", share);
  args.push("-append", "console=ttyS0 quiet loglevel=3 panic=-1");
  const child = spawn("qemu-system-x86_64", args, { stdio: ["ignore", "pipe", "pipe"] });
  const end = () => child.kill("SIGKILL");
  signal?.addEventListener("abort", end, { once: true });
  const patience = setTimeout(end, patienceMs);
  let code: number | undefined;
  let hasStarted = false;
  createInterface(child.stdout).on("line", (line) => {
    if (line.includes(STARTED)) {
      hasStarted = true;
      clearTimeout(patience);
    }
    const ended = ENDED.exec(line)?.[1];
    if (ended !== undefined) code = Number(ended);
    onLine?.(line);
  });
  createInterface(child.stderr).on("line", (line) => onLine?.(line));
  try {
    await new Promise<void>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", () => resolve());
    });
  } finally {
    clearTimeout(patience);
    signal?.removeEventListener("abort", end);
  }
  return { hasStarted, code };
}

const STARTED = "fjord-vm: started";
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
  const first = moduleOrder(await readFile(join(modules, version, "modules.dep"), "utf8"), FIRST_MODULES);
  const files = await Promise.all(
    first.map(async ({ name, path }) => ({
      path: `modules/${name}`,
      mode: 0o100644,
      content: await readFile(join(modules, version, path)),
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
echo "${STARTED}"
for name in ${first.map(({ name }) => name).join(" ")}; do insmod /modules/$name; done
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

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
