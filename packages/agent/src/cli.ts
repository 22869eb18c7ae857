#!/usr/bin/env node
// The program fjord-agent. What follows is loaded only once the process is as it should be (docs/decisions/0007).
import { leanCommand } from "@fjord/base/lean-start";
import { leanMemory, leanSettings } from "./command-line/lean-start.ts";

const command = leanCommand(process, leanSettings);
if (command !== undefined && process.execve !== undefined)
  process.execve(process.execPath, command, { ...leanMemory, ...process.env });
await import("./main.ts");
