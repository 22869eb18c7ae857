import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, type Logger } from "@fjord/base";
import { decode, encode } from "./encoding.ts";
import type { LaneStatus, Network } from "./network.ts";

/** What was set of a network, in the bed's directory: it outlives the process that carries the network. */
export class NetworkSettings {
  readonly #file: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(directory: string) {
    this.#file = join(directory, "network.json");
  }

  /** Writes what is set now; a reader never sees half of it. */
  save(network: Network): Promise<void> {
    // One at a time: two commands may come at once, and the later state has to be what stays.
    const write = async () => {
      await writeFile(`${this.#file}.new`, `${encode(await network.status())}\n`, { mode: 0o600 });
      await rename(`${this.#file}.new`, this.#file);
    };
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }

  /** Sets a new network as it was when last saved. */
  async restore(network: Network, log: Logger): Promise<void> {
    for (const { from, to, latency, jitter, bandwidth, state, exposed } of await this.#read()) {
      const direction = { oneWay: true };
      await network.shape(from, to, { latency, jitter, bandwidth }, direction);
      if (state !== "open") await network.cut(from, to, { ...direction, reset: state === "refusing" });
      for (const { target, address } of exposed) {
        try {
          await network.expose(from, to, target, address.port);
        } catch (error) {
          // Another program may have taken the port meanwhile. The rest of the network is worth having without it.
          log.error("cannot expose a target again", { from, to, target: target.host, error: describeError(error) });
        }
      }
    }
  }

  async #read(): Promise<LaneStatus[]> {
    try {
      return decode(await readFile(this.#file, "utf8")) as LaneStatus[];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}
