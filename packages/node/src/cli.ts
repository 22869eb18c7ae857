#!/usr/bin/env node
// The program fjord-node. What follows is loaded only once the process is as it should be.
import { leanCommand } from "@fjord/base/lean-start";
import { leanSettings } from "./command-line/lean-start.ts";

const command = leanCommand(process, leanSettings);
if (command !== undefined && process.execve !== undefined) process.execve(process.execPath, command, process.env);
await import("./main.ts");
