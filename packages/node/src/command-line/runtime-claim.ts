import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import type { Server } from "node:net";
import { type Clock, type Logger, sleep } from "@fjord/base";
import { claimName } from "../machine/claimed-name.ts";
import { RuntimeInUse } from "./errors.ts";

const HANDOVER_MS = 5_000;
const LOOK_INTERVAL = 100;

/**
 * Makes a container runtime this node's alone until the process ends: a node ends every pod of its runtime that its API does
 * not know, so two of them would end each other's. One that is being replaced is given a moment to stop.
 */
export async function claimRuntime(
  socket: string,
  { clock, logger }: { clock: Clock; logger: Logger },
  signal?: AbortSignal,
): Promise<Server | undefined> {
  // The runtime may not be there yet. A name that is claimed may not be as long as a path.
  const path = await realpath(socket).catch(() => socket);
  const name = `fjord-runtime/${createHash("sha256").update(path).digest("hex")}`;
  const end = clock.now() + HANDOVER_MS;
  for (let isTold = false; !signal?.aborted; isTold = true) {
    const claim = await claimName(name);
    if (claim !== undefined) return claim;
    if (clock.now() >= end) throw new RuntimeInUse({ socket });
    if (!isTold) {
      logger.warn("another node uses the container runtime: waiting for it to stop", {
        socket,
        seconds: HANDOVER_MS / 1000,
      });
    }
    await sleep(clock, LOOK_INTERVAL, signal);
  }
  return undefined;
}
