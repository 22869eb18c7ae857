#!/usr/bin/env node
// The program microkube. What follows is loaded only once the process is as it should be.
import { keepCompiled } from "./command-line/compile-cache.ts";
import { leanArguments, leanEnvironment } from "./command-line/lean-start.ts";

const command = leanArguments(process);
if (command !== undefined && process.execve !== undefined) {
  process.execve(process.execPath, command, { ...leanEnvironment, ...process.env });
}
keepCompiled(process.env);
await import("./main.ts");
