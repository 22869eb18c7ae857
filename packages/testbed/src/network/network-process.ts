import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Clock } from "@fjord/base";
import { NotReadyError, ProcessEndedError } from "../errors.ts";
import { ManagedProcess } from "../managed-process.ts";
import type { BedState, StateFile } from "../state.ts";
import { type WaitOptions, waitFor } from "../wait.ts";
import { NetworkClient } from "./control.ts";
import { networkSocket } from "./socket.ts";

/** The process that carries the network of a bed which stays when the command that started it ends. */
export function networkProcess(state: StateFile, environment: Record<string, string>, clock: Clock): ManagedProcess {
  const { directory } = state.state;
  const daemon = fileURLToPath(new URL("daemon.ts", import.meta.url));
  const log = join(directory, "network.log");
  return new ManagedProcess(
    { name: "network", site: "", file: process.execPath, args: [daemon, directory], log },
    { changed: (record) => state.putProcess(record), environment, clock },
  );
}

/** Waits until the network process takes commands. */
export async function networkServes(
  process: ManagedProcess,
  state: BedState,
  options: WaitOptions,
): Promise<NetworkClient> {
  const client = new NetworkClient(networkSocket(state));
  const what = "the network between sites to take commands";
  let last = "none";
  const serves = await waitFor(async () => {
    try {
      await client.status();
      return true;
    } catch (error) {
      last = (error as Error).message;
    }
    if (!process.running) {
      const { log } = process.record;
      throw new ProcessEndedError({ process: process.name, site: "the bed", what, log, tail: process.logTail() });
    }
    return false;
  }, options);
  if (!serves) throw new NotReadyError({ site: "the bed", what, seconds: Math.round(options.timeout / 1000), last });
  return client;
}
