#!/usr/bin/env node
import { startMicrokube } from "./microkube.ts";

const dataDir = process.argv[2];
const t = performance.now();
const microkube = await startMicrokube({ ...(dataDir !== undefined && { dataDir }), logger: console });
console.log(
  `ready in ${(performance.now() - t).toFixed(0)} ms at ${microkube.server}, export KUBECONFIG=${microkube.kubeconfigPath}`,
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void microkube.close());
