#!/usr/bin/env node
// The program fjord. What is asked for most is answered before anything is loaded.
import { enableCompileCache } from "node:module";
import { FJORD_VERSION } from "./version.ts";

enableCompileCache();
if (["--version", "-V"].includes(process.argv[2] ?? "")) process.stdout.write(`${FJORD_VERSION}\n`);
else await import("./main.ts");
