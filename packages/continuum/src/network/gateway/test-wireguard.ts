import { NodeNetwork } from "./node-network.ts";
import type { WireguardChoice, WireguardDevice } from "./wireguard-devices.ts";
import { WireguardSocket } from "./wireguard-socket.ts";
import { WireguardTool } from "./wireguard-tool.ts";

/** What tests of links have encrypt: a program, and with FJORD_TEST_WIREGUARD=kernel the kernel. */
export function testChoice(): WireguardChoice {
  return process.env.FJORD_TEST_WIREGUARD === "kernel" ? "kernel" : "userspace";
}

/** An interface of such a test, in the network namespace that `prefix` leads to. */
export function testDevice(prefix: readonly string[], name: string): WireguardDevice {
  return testChoice() === "kernel" ? new WireguardTool(name, new NodeNetwork({ prefix })) : new WireguardSocket(name);
}
