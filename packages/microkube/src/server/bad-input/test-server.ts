// A control plane in a process of its own, whose end and memory are looked at from outside.
import { setTimeout as pause } from "node:timers/promises";
import { silentLogger } from "@fjord/base";
import { startMicrokube } from "../../microkube.ts";

export interface ServerStarted {
  readonly server: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface ServerMemory {
  /** Bytes that live objects take, in V8's heap and beside it. */
  readonly live: number;
  readonly resident: number;
  /** Processor milliseconds of the longest piece of work that let nothing else happen. */
  readonly longest: number;
}

const LOOK_MS = 20;

const loops = process.env.FJORD_BAD_LOOPS === "1";
const error = (message: string, fields?: object) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
const logger = { ...silentLogger, error };
const microkube = await startMicrokube({
  controllers: loops,
  scheduler: loops,
  logger,
});
const { clusterCa, admin } = microkube.credentials;
process.send?.({ server: microkube.server, ca: clusterCa.certificate, ...admin } satisfies ServerStarted);
let longest = 0;
let before = process.cpuUsage();
setInterval(() => {
  const { user, system } = process.cpuUsage(before);
  longest = Math.max(longest, (user + system) / 1000);
  before = process.cpuUsage();
}, LOOK_MS);
process.on("message", async () => {
  const busiest = longest;
  // What was let go of in callbacks goes with the second.
  for (let times = 0; times < 3; times++) {
    global.gc?.();
    await pause(50);
  }
  // The collections were ours.
  longest = 0;
  const { heapUsed, external, rss } = process.memoryUsage();
  process.send?.({ live: heapUsed + external, resident: rss, longest: Math.round(busiest) } satisfies ServerMemory);
});
process.on("disconnect", () => process.exit());
