#!/usr/bin/env node
// The program fjord. What is asked for most is answered before anything is loaded.
import { enableCompileCache } from "node:module";
import { FJORD_VERSION } from "./version.ts";

enableCompileCache();
const [, , command = "", next = ""] = process.argv;
if (["--version", "-V"].includes(command)) process.stdout.write(`${FJORD_VERSION}\n`);
else {
  // A site lives long: it begins anew with settings for little memory (docs/decisions/0007).
  if (command === "micro" && (next === "" || next === "run" || next.startsWith("--"))) await becomeLean();
  await import("./main.ts");
}

async function becomeLean(): Promise<void> {
  const { leanCommand } = await import("@fjord/base/lean-start");
  const { LEAN_MICRO } = await import("./lean.ts");
  const lean = leanCommand(process, { micro: LEAN_MICRO });
  if (lean !== undefined && process.execve !== undefined) process.execve(process.execPath, lean, process.env);
}
