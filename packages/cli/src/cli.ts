#!/usr/bin/env node
// The program fjord.
await import("./main.ts");
