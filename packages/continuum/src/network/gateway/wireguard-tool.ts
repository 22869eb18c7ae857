import { describeError } from "@fjord/base";
import type { WireguardState } from "../fabric/wireguard-change.ts";
import { parseWireguardDump, wireguardCalls } from "../fabric/wireguard-tool.ts";
import { WireguardRefused } from "./errors.ts";
import type { NodeNetwork } from "./node-network.ts";
import type { WireguardDevice } from "./wireguard-devices.ts";

/** Speaks with an interface of WireGuard by the program `wg`, which knows the kernel's and those of programs. */
export class WireguardTool implements WireguardDevice {
  readonly #name: string;
  readonly #network: Pick<NodeNetwork, "wg">;

  constructor(name: string, network: Pick<NodeNetwork, "wg">) {
    this.#name = name;
    this.#network = network;
  }

  async get(): Promise<WireguardState> {
    return parseWireguardDump(await this.#ask(["show", this.#name, "dump"]));
  }

  async set(lines: readonly string[]): Promise<void> {
    for (const { args, input } of wireguardCalls(lines)) await this.#ask(["set", this.#name, ...args], input);
  }

  async #ask(args: readonly string[], input?: string): Promise<string> {
    try {
      return await this.#network.wg(args, input);
    } catch (cause) {
      throw new WireguardRefused({ name: this.#name, reason: describeError(cause) }, { cause });
    }
  }
}
