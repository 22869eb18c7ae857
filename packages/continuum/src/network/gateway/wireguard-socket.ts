import { connect } from "node:net";
import { join } from "node:path";
import { parseWireguardState, type WireguardState } from "../fabric/wireguard-change.ts";
import { WireguardRefused } from "./errors.ts";
import type { WireguardDevice } from "./wireguard-devices.ts";

/** Where wireguard-go listens for its interfaces, by name: one folder for the whole machine. */
const FOLDER = "/var/run/wireguard";

/** Speaks with WireGuard as a program, by its socket (https://www.wireguard.com/xplatform/). */
export class WireguardSocket implements WireguardDevice {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  async get(): Promise<WireguardState> {
    return parseWireguardState(await this.#ask("get=1\n\n"));
  }

  async set(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#ask(`set=1\n${lines.join("\n")}\n\n`);
  }

  /** Resolves with the answer, which ends with an empty line. */
  async #ask(question: string): Promise<string> {
    const refuse = (reason: string, cause?: unknown) =>
      new WireguardRefused({ name: this.#name, reason }, cause === undefined ? {} : { cause });
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(join(FOLDER, `${this.#name}.sock`));
      let text = "";
      socket.setTimeout(10_000, () => socket.destroy(new Error("no answer for 10 seconds")));
      socket.setEncoding("utf8");
      socket.on("data", (chunk: string) => {
        text += chunk;
        if (!text.endsWith("\n\n")) return;
        socket.destroy();
        resolve(text);
      });
      socket.on("error", (error) => reject(refuse(error.message, error)));
      socket.on("close", () => reject(refuse("it has closed the connection")));
      socket.write(question);
    });
    const code = /^errno=(-?\d+)$/m.exec(answer)?.[1];
    // Never the question: it may hold the private key.
    if (code !== "0") throw refuse(`error ${code}`);
    return answer;
  }
}
