import { statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { formatBytes, formatProcessors, inThousandths, inUnits, parseQuantity } from "@fjord/kube";
import { type OwnCgroup, readOwnCgroup } from "./own-cgroup.ts";
import { type MachineRoot, numbersOf, systemFile } from "./system-file.ts";

/** What the machine, or the container that this node runs in, has; bytes, and thousandths of processors. */
export interface MachineCapacity {
  readonly processors: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly storageBytes: number;
  readonly processes: number;
  /** Bytes by page size, such as `2Mi`. */
  readonly hugePages: Readonly<Record<string, number>>;
}

export interface CapacityOptions extends MachineRoot {
  /** A folder on the file system that pods get their storage from. */
  readonly stateDirectory: string;
}

export async function readMachineCapacity(options: CapacityOptions): Promise<MachineCapacity> {
  const memory = numbersOf(await systemFile(options, "proc/meminfo"));
  const own = await readOwnCgroup(options);
  const storage = await statfs(options.stateDirectory);
  return {
    processors: Math.min(availableParallelism() * 1000, own.cpuLimit ?? Number.POSITIVE_INFINITY),
    memoryBytes: Math.min(memory.get("MemTotal") ?? 0, own.memoryLimit ?? Number.POSITIVE_INFINITY),
    swapBytes: memory.get("SwapTotal") ?? 0,
    storageBytes: storage.blocks * storage.bsize,
    processes: await processLimit(options, own),
    hugePages: hugePagesOf(memory),
  };
}

async function processLimit(options: MachineRoot, own: OwnCgroup): Promise<number> {
  const files = ["proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"];
  const limits = await Promise.all(files.map(async (file) => Number((await systemFile(options, file)) ?? Infinity)));
  return Math.min(...limits, own.pidsLimit ?? Number.POSITIVE_INFINITY);
}

/** Only of the default size: others are rare, and named one by one in sysfs. */
function hugePagesOf(memory: ReadonlyMap<string, number>): Record<string, number> {
  const size = memory.get("Hugepagesize") ?? 2 * 1024 ** 2;
  const total = (memory.get("HugePages_Total") ?? 0) * size;
  const name = size >= 1024 ** 3 ? `${size / 1024 ** 3}Gi` : `${size / 1024 ** 2}Mi`;
  return { "1Gi": 0, "2Mi": 0, [name]: total };
}

export interface ResourcePlan {
  /** @default 110 */
  readonly pods?: number;
  /** Instead of what the machine has, or beside it: `{ cpu: "4", "example.com/camera": "2" }`. */
  readonly override?: Readonly<Record<string, string>>;
  /** Kept for the system and for this node: `{ cpu: "100m", memory: "200Mi" }`. */
  readonly reserved?: Readonly<Record<string, string>>;
  /** Memory, and share of the storage, at which pods are evicted: nobody can count on them. */
  readonly evictionMemoryBytes?: number;
  readonly evictionStorageShare?: number;
}

/** Capacity as the Node object gives it. */
export function capacityOf(machine: MachineCapacity, plan: ResourcePlan = {}): Record<string, string> {
  const hugePages = Object.entries(machine.hugePages).map(([size, bytes]) => [`hugepages-${size}`, formatBytes(bytes)]);
  return {
    cpu: formatProcessors(Math.floor(machine.processors)),
    memory: formatBytes(machine.memoryBytes),
    "ephemeral-storage": formatBytes(machine.storageBytes),
    ...Object.fromEntries(hugePages),
    pods: String(plan.pods ?? 110),
    ...plan.override,
  };
}

/** What of it pods may ask for; never less than nothing. */
export function allocatableOf(
  capacity: Readonly<Record<string, string>>,
  plan: ResourcePlan = {},
): Record<string, string> {
  return Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, allocatable(name, amount, plan)]));
}

function allocatable(name: string, amount: string, plan: ResourcePlan): string {
  const reserved = plan.reserved?.[name];
  const left = parseQuantity(amount) - (reserved === undefined ? 0n : parseQuantity(reserved));
  const positive = left > 0n ? left : 0n;
  if (name === "cpu") return formatProcessors(inThousandths(positive));
  const bytes = inUnits(positive);
  if (name === "memory") return formatBytes(Math.max(0, bytes - (plan.evictionMemoryBytes ?? 0)));
  if (name === "ephemeral-storage") {
    const share = (plan.evictionStorageShare ?? 0) * inUnits(parseQuantity(amount));
    return String(Math.max(0, Math.floor(bytes - share)));
  }
  return reserved === undefined ? amount : String(bytes);
}
