#!/usr/bin/env node
// The program fjord-agent. What follows is loaded only once the process is as it should be (docs/decisions/0007).
import { leanCommand } from "@fjord/base/lean-start";

const settings = {
  run: [
    "--max-semi-space-size=1",
    "--optimize-for-size",
    "--initial-old-space-size=16",
    "--heap-growing-percent=30",
    "--no-opt",
    "--no-maglev",
    // For what a start or a burst has left (spare-memory.ts).
    "--expose-gc",
  ],
};
/** One place for what is not JavaScript's, and what is large and no longer used goes back to the system (glibc). */
const memory = { MALLOC_ARENA_MAX: "1", MALLOC_TRIM_THRESHOLD_: "131072" };
const command = leanCommand(process, settings);
if (command !== undefined && process.execve !== undefined)
  process.execve(process.execPath, command, { ...memory, ...process.env });
await import("./main.ts");
