// `npm run format`: formats every file and mends what the linter can.
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";

const root = dirname(import.meta.dirname);
process.exit(spawnSync("biome", ["check", "--write", "."], { cwd: root, stdio: "inherit" }).status ?? 1);
