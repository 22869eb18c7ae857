import { describeError, type Logger } from "@fjord/base";
import type { WireguardState } from "../fabric/wireguard-change.ts";
import { KernelWireguardMissing } from "./errors.ts";
import type { NodeNetwork } from "./node-network.ts";
import { WireguardSocket } from "./wireguard-socket.ts";
import { WireguardTool } from "./wireguard-tool.ts";

/** What encrypts. */
export type WireguardCarrier = "Kernel" | "Userspace";

/** `auto` takes the kernel's where there is one. */
export type WireguardChoice = "auto" | "kernel" | "userspace";

/** An interface of WireGuard; changes are lines of its own protocol. */
export interface WireguardDevice {
  get(): Promise<WireguardState>;
  set(lines: readonly string[]): Promise<void>;
}

export interface WireguardDevicesOptions {
  readonly network: NodeNetwork;
  /** @default "auto" */
  readonly choice?: WireguardChoice;
  /** Of an interface that is made to see whether it can be. */
  readonly probeName: string;
  readonly logger: Logger;
}

/** Makes interfaces of WireGuard on a node: the kernel's where that has it, and else those of a program. */
export class WireguardDevices {
  readonly #options: WireguardDevicesOptions;
  /** Once it is known. */
  #carrier: WireguardCarrier | undefined;

  constructor(options: WireguardDevicesOptions) {
    this.#options = options;
  }

  /** What encrypts here, once `choose` was asked. */
  get carrier(): WireguardCarrier {
    return this.#carrier ?? "Userspace";
  }

  /**
   * Says what is to encrypt. The kernel's WireGuard does not send into itself, as it would have to for peers behind hubs: where there are such peers
   * (`isNested`), it is a program, and stays one while this process lives.
   */
  async choose(isNested: boolean): Promise<WireguardCarrier> {
    const { choice = "auto", logger } = this.#options;
    if (choice === "userspace" || (choice === "auto" && isNested)) {
      if (this.#carrier === "Kernel") logger.info("a program encrypts from now on, as a peer is behind a hub");
      this.#carrier = "Userspace";
    }
    if (this.#carrier !== undefined) return this.#carrier;
    const fault = await this.#probe();
    if (fault !== undefined && choice === "kernel") throw new KernelWireguardMissing({ reason: fault });
    this.#carrier = fault === undefined ? "Kernel" : "Userspace";
    logger.info("WireGuard was chosen by a probe", { carrier: this.#carrier, ...(fault && { reason: fault }) });
    return this.#carrier;
  }

  device(name: string): WireguardDevice {
    return this.carrier === "Kernel" ? new WireguardTool(name, this.#options.network) : new WireguardSocket(name);
  }

  /** An interface that is there, whoever has made it. */
  async found(name: string): Promise<WireguardDevice> {
    const isKernels = (await this.#options.network.linkKind(name)) === "wireguard";
    return isKernels ? new WireguardTool(name, this.#options.network) : new WireguardSocket(name);
  }

  /** Has an interface of what was chosen. Whether it is a new one. */
  async bring(name: string): Promise<boolean> {
    const { network } = this.#options;
    const kind = await network.linkKind(name);
    const isKernels = this.carrier === "Kernel";
    if (kind !== undefined && (kind === "wireguard") !== isKernels) await network.ip("link", "delete", "dev", name);
    else if (await this.isThere(name)) return false;
    // What does not answer is another's, or a process that has ended: its interface ends with it.
    if (isKernels) await network.ip("link", "add", "dev", name, "type", "wireguard");
    else await network.startWireguard(name);
    return true;
  }

  /** Whether there is an interface of what was chosen, and it answers. */
  async isThere(name: string): Promise<boolean> {
    return await this.device(name)
      .get()
      .then(
        () => true,
        () => false,
      );
  }

  /** Why the kernel's cannot be used; undefined where it can. */
  async #probe(): Promise<string | undefined> {
    const { network, probeName: name } = this.#options;
    try {
      if ((await network.linkKind(name)) === undefined)
        await network.ip("link", "add", "dev", name, "type", "wireguard");
      try {
        await new WireguardTool(name, network).get();
      } finally {
        await network.ip("link", "delete", "dev", name);
      }
      return undefined;
    } catch (error) {
      return describeError(error);
    }
  }
}
