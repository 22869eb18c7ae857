export { type DebianKernel, ensureDebianKernel } from "./debian-kernel.ts";
export { type KernelMachineOptions, runOnDebianKernel } from "./kernel-machine.ts";
