#!/usr/bin/env node
// The program fjord-agent.
await import("./main.ts");
