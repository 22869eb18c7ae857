import { readFileSync } from "node:fs";

/** By their numbers in the kernel. */
export const capabilities: readonly string[] = (
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE " +
  "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN " +
  "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE " +
  "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
).split(" ");

/** `CAP_SYS_TIME` and `sys_time` are `SYS_TIME`. */
export function plainName(capability: string): string {
  return capability.toUpperCase().replace(/^CAP_/, "");
}

/** Those that a kernel has whose last one has this number. */
export function capabilitiesUpTo(last: number): ReadonlySet<string> {
  return new Set(capabilities.slice(0, last + 1));
}

/** Those of this machine's kernel. */
export function machineCapabilities(file = "/proc/sys/kernel/cap_last_cap"): ReadonlySet<string> {
  return capabilitiesUpTo(Number(readFileSync(file, "utf8")));
}
