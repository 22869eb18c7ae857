import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { allocatableOf, capacityOf, type MachineCapacity, readMachineCapacity } from "./machine-capacity.ts";
import { osImageOf, readMachineInfo } from "./machine-info.ts";
import {
  busyNanoseconds,
  defaultInterface,
  interfacesOf,
  memoryOf,
  readFileSystem,
  readMachineUsage,
} from "./machine-usage.ts";
import { readOwnCgroup } from "./own-cgroup.ts";
import { numbersOf } from "./system-file.ts";

const directory = await mkdtemp(join(tmpdir(), "fjord-machine-"));
after(() => rm(directory, { recursive: true }));

async function machine(name: string, files: Record<string, string>): Promise<string> {
  const root = join(directory, name);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

test("this machine has processors, memory, storage and processes", async () => {
  const capacity = await readMachineCapacity({ stateDirectory: directory });
  assert.ok(capacity.processors >= 100 && capacity.memoryBytes > 2 ** 26 && capacity.storageBytes > 0);
  assert.ok(capacity.processes > 100 && Number.isFinite(capacity.processes));
  const usage = await readMachineUsage({ clock: systemClock });
  assert.ok((usage.usage.cpuNanoseconds ?? 0) > 0);
  assert.ok((usage.usage.workingSetBytes ?? 0) + usage.availableBytes > 2 ** 26);
  assert.ok(usage.processes > 1 && usage.startedAt < Date.now() && usage.startedAt > Date.UTC(2020));
  const info = await readMachineInfo();
  for (const field of ["architecture", "operatingSystem", "kernelVersion", "osImage", "bootID"] as const) {
    assert.notEqual(info[field], "", field);
  }
  const disk = await readFileSystem(directory, systemClock);
  assert.ok(disk.availableBytes <= disk.capacityBytes && disk.inodesFree <= disk.inodes);
});

test("a machine without most of the usual files is described all the same", async () => {
  const root = await machine("bare", {});
  const info = await readMachineInfo({ root });
  assert.equal(info.machineID, "");
  assert.equal(info.osImage, "linux");
  assert.equal((await readMachineUsage({ root, clock: new ManualClock() })).processes, 0);
});

test("identifiers come from where they are", async () => {
  const files = { "var/lib/dbus/machine-id": "abc\n", "usr/lib/os-release": "NAME=x\nPRETTY_NAME='Small OS 1'\n" };
  const root = await machine("small", files);
  const info = await readMachineInfo({ root });
  assert.deepEqual([info.machineID, info.osImage, info.systemUUID], ["abc", "Small OS 1", "abc"]);
});

test("names of systems are read with and without quotes", () => {
  assert.equal(osImageOf('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'), "Debian GNU/Linux 12 (bookworm)");
  assert.equal(osImageOf("ID=x\nPRETTY_NAME=Plain\n"), "Plain");
  assert.equal(osImageOf("ID=x\n"), undefined);
});

const cgroups: [string, Record<string, string>, object][] = [
  [
    "unified",
    {
      "proc/self/cgroup": "0::/a\n",
      "sys/fs/cgroup/cgroup.controllers": "cpu memory",
      "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
      "sys/fs/cgroup/a/memory.max": "1073741824\n",
      "sys/fs/cgroup/a/pids.max": "max\n",
    },
    { cpuLimit: 1500, memoryLimit: 1073741824 },
  ],
  ["unified without limits", { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpu memory" }, {}],
  [
    "separate",
    {
      "proc/self/cgroup": "5:pids:/p\n4:memory:/m\n2:cpu,cpuacct:/c\n0::/\n",
      "sys/fs/cgroup/cpu/c/cpu.cfs_quota_us": "50000\n",
      "sys/fs/cgroup/cpu/c/cpu.cfs_period_us": "100000\n",
      "sys/fs/cgroup/memory/m/memory.limit_in_bytes": "9223372036854771712\n",
      "sys/fs/cgroup/pids/p/pids.max": "512\n",
    },
    { cpuLimit: 500, pidsLimit: 512 },
  ],
  [
    "separate without limits",
    {
      "proc/self/cgroup": "2:cpu:/\n",
      "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    },
    {},
  ],
];
for (const [what, files, expected] of cgroups) {
  test(`limits of control groups: ${what}`, async () => {
    assert.deepEqual(await readOwnCgroup({ root: await machine(what, files) }), expected);
  });
}

test("memory that was not used lately is not part of the working set", () => {
  const text = "MemTotal: 1000 kB\nMemFree: 300 kB\nInactive(file): 200 kB\nAnonPages: 100 kB\nHugePages_Total: 0\n";
  assert.deepEqual(memoryOf(numbersOf(text)), {
    usedBytes: 700 * 1024,
    workingSetBytes: 500 * 1024,
    availableBytes: 500 * 1024,
    rssBytes: 100 * 1024,
  });
});

test("time spent idle and waiting is not usage", () => {
  assert.equal(busyNanoseconds("cpu  1 2 4 1000 1000 8 16 32 7 7\ncpu0 9 9 9\n"), 63 * 1e7);
  assert.equal(busyNanoseconds(""), 0);
});

test("the interface of the default route comes first, and loopback does not count", () => {
  const dev = `Inter-|   Receive
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9 9 9 0 0 0 0 0 9 9 9 0 0 0 0 0
  wlan0: 1 2 3 0 0 0 0 0 4 5 6 0 0 0 0 0
  eth0:10 2 30 0 0 0 0 0 40 5 60 0 0 0 0 0\n`;
  const routes =
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\n";
  assert.equal(defaultInterface(routes), "eth0");
  assert.equal(defaultInterface(""), undefined);
  assert.deepEqual(interfacesOf(dev, "eth0"), [
    { name: "eth0", receivedBytes: 10, receiveErrors: 30, sentBytes: 40, sendErrors: 60 },
    { name: "wlan0", receivedBytes: 1, receiveErrors: 3, sentBytes: 4, sendErrors: 6 },
  ]);
});

const small: MachineCapacity = {
  processors: 2500,
  memoryBytes: 1024 ** 3,
  swapBytes: 0,
  storageBytes: 10 * 1024 ** 3,
  processes: 32768,
  hugePages: { "2Mi": 0 },
};

test("capacity is the machine's, unless someone says otherwise", () => {
  assert.deepEqual(capacityOf(small, { override: { memory: "512Mi", "example.com/camera": "2" } }), {
    cpu: "2500m",
    memory: "512Mi",
    "ephemeral-storage": "10485760Ki",
    "hugepages-2Mi": "0",
    pods: "110",
    "example.com/camera": "2",
  });
});

test("what is reserved and what eviction keeps free is not allocatable", () => {
  const plan = {
    reserved: { cpu: "500m", memory: "24Mi" },
    evictionMemoryBytes: 100 * 1024 ** 2,
    evictionStorageShare: 0.1,
  };
  const allocatable = allocatableOf(capacityOf(small, plan), plan);
  assert.equal(allocatable.cpu, "2");
  assert.equal(allocatable.memory, `${900 * 1024}Ki`);
  assert.equal(allocatable["ephemeral-storage"], String(9 * 1024 ** 3));
  assert.equal(allocatable.pods, "110");
});

test("nothing is less than nothing", () => {
  const allocatable = allocatableOf({ cpu: "1", memory: "10Mi" }, { reserved: { cpu: "2", memory: "1Gi" } });
  assert.deepEqual(allocatable, { cpu: "0", memory: "0" });
});
