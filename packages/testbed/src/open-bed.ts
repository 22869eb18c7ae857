import { type Clock, type Logger, silentLogger, systemClock } from "@fjord/base";
import { Bed } from "./bed.ts";
import { NoBedError } from "./errors.ts";
import { bedEnvironment } from "./leftovers.ts";
import { ManagedProcess } from "./managed-process.ts";
import { NetworkClient } from "./network/control.ts";
import { networkSocket } from "./network/socket.ts";
import { Registry } from "./registry.ts";
import { Site } from "./site.ts";
import { readState, StateFile } from "./state.ts";

export interface OpenOptions {
  registry?: Registry;
  log?: Logger;
  clock?: Clock;
}

/** The bed that another program has started, and left running, in a directory. */
export async function openBed(directory: string, options: OpenOptions = {}): Promise<Bed> {
  const { registry = new Registry(), log = silentLogger, clock = systemClock } = options;
  const found = readState(directory);
  if (found === undefined) throw new NoBedError({ directory });
  const state = new StateFile(found);
  const environment = bedEnvironment(found.id);
  const sites = found.sites.map((layout) => new Site(layout, { state, environment, clock }));
  const processes = found.processes
    .filter((record) => record.site === "")
    .map((record) => new ManagedProcess(record, { changed: (it) => state.putProcess(it), environment, clock }));
  for (const site of sites) await site.load();
  return new Bed({ sites, processes, network: new NetworkClient(networkSocket(found)), state, registry, log });
}
