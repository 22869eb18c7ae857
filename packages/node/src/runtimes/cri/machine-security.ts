import { existsSync, readFileSync } from "node:fs";

/** Whether the kernel enforces AppArmor profiles. */
export function hasAppArmor(file = "/sys/module/apparmor/parameters/enabled"): boolean {
  return existsSync(file) && readFileSync(file, "utf8").startsWith("Y");
}

/** Whether the kernel labels processes and files. */
export function hasSeLinux(file = "/sys/fs/selinux/enforce"): boolean {
  return existsSync(file);
}
