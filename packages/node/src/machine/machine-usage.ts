import { statfs } from "node:fs/promises";
import type { Clock } from "@fjord/base";
import type { Usage } from "../runtime/stats.ts";
import { type MachineRoot, numbersOf, systemFile } from "./system-file.ts";

export interface FileSystemUsage {
  readonly time: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly receiveErrors: number;
  readonly sendErrors: number;
}

export interface MachineUsage {
  readonly usage: Usage;
  /** Memory that could still be given out without swapping. */
  readonly availableBytes: number;
  /** The one of the default route first. */
  readonly interfaces: readonly InterfaceUsage[];
  readonly processes: number;
  readonly processLimit: number;
  /** When the machine was started. */
  readonly startedAt: number;
}

/** Clock ticks a second, as Linux tells userland on every architecture that Node.js runs on. */
const TICKS = 100;

export async function readMachineUsage(options: MachineRoot & { clock: Clock }): Promise<MachineUsage> {
  const read = (path: string) => systemFile(options, path);
  const [stat, meminfo, vmstat, netdev, routes, loadavg, pidMax, threadsMax] = await Promise.all(
    [
      "proc/stat",
      "proc/meminfo",
      "proc/vmstat",
      "proc/net/dev",
      "proc/net/route",
      "proc/loadavg",
      "proc/sys/kernel/pid_max",
      "proc/sys/kernel/threads-max",
    ].map(read),
  );
  const time = options.clock.now();
  const memory = memoryOf(numbersOf(meminfo));
  const faults = numbersOf(vmstat);
  return {
    usage: {
      time,
      cpuNanoseconds: busyNanoseconds(stat ?? ""),
      usageBytes: memory.usedBytes,
      workingSetBytes: memory.workingSetBytes,
      rssBytes: memory.rssBytes,
      pageFaults: faults.get("pgfault"),
      majorPageFaults: faults.get("pgmajfault"),
    },
    availableBytes: memory.availableBytes,
    interfaces: interfacesOf(netdev ?? "", defaultInterface(routes ?? "")),
    processes: Number(/\/(\d+)/.exec(loadavg ?? "")?.[1] ?? 0),
    processLimit: Math.min(Number(pidMax ?? Infinity), Number(threadsMax ?? Infinity)),
    startedAt: Number(/^btime (\d+)$/m.exec(stat ?? "")?.[1] ?? 0) * 1000,
  };
}

export async function readFileSystem(path: string, clock: Clock): Promise<FileSystemUsage> {
  const { blocks, bsize, bavail, bfree, files, ffree } = await statfs(path);
  return {
    time: clock.now(),
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

/** All that is neither idle nor waiting; guests are counted in user time already. */
export function busyNanoseconds(stat: string): number {
  const fields = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, steal = 0] = fields;
  return (user + nice + system + interrupts + softInterrupts + steal) * (1e9 / TICKS);
}

/** Page cache that nobody has used lately can be reclaimed; the rest is the working set, by the kubelet's definition. */
export function memoryOf(meminfo: ReadonlyMap<string, number>) {
  const total = meminfo.get("MemTotal") ?? 0;
  const usedBytes = total - (meminfo.get("MemFree") ?? 0);
  const workingSetBytes = Math.max(0, usedBytes - (meminfo.get("Inactive(file)") ?? 0));
  return { usedBytes, workingSetBytes, availableBytes: total - workingSetBytes, rssBytes: meminfo.get("AnonPages") };
}

/** The interface that leads out of here, by a routing table as the kernel prints it. */
export function defaultInterface(routes: string): string | undefined {
  const lines = routes.split("\n").map((line) => line.split(/\s+/));
  return lines.find(([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000")?.[0];
}

export function interfacesOf(netdev: string, first: string | undefined): InterfaceUsage[] {
  const all = netdev.split("\n").flatMap((line) => {
    const match = /^\s*([^:\s]+):\s*(.*)$/.exec(line);
    const numbers = match?.[2]?.trim().split(/\s+/).map(Number) ?? [];
    const [receivedBytes = 0, , receiveErrors = 0, , , , , , sentBytes = 0, , sendErrors = 0] = numbers;
    const name = match?.[1] ?? "lo";
    return name === "lo" ? [] : [{ name, receivedBytes, receiveErrors, sentBytes, sendErrors }];
  });
  return all.sort((a, b) => Number(b.name === first) - Number(a.name === first));
}
