import { defineError } from "@fjord/base";

export const NetworkCommandFailed = defineError(
  "NETWORK_COMMAND_FAILED",
  "`{command}` failed: {reason}",
  "A gateway needs root (or CAP_NET_ADMIN), the programs ip and nft (Debian: iproute2, nftables), and /dev/net/tun.",
);

export const WireguardRefused = defineError(
  "WIREGUARD_REFUSED",
  "WireGuard of interface {name} does not answer as it should: {reason}",
  "The gateway tries again. `ip link show dev {name}` says whether the interface is there.",
);

export const WireguardMissing = defineError(
  "WIREGUARD_MISSING",
  "there is no program {program}, which carries links on this node: {reason}",
  "Install wireguard-go (Debian: wireguard-go), or name it by `--wireguard-go PATH`.",
);

export const KernelWireguardMissing = defineError(
  "KERNEL_WIREGUARD_MISSING",
  "links are to be carried by the kernel's WireGuard, and cannot be: {reason}",
  "Load the kernel's module (`modprobe wireguard`) and install `wg` (Debian: wireguard-tools), or let the gateway choose (`--wireguard=auto`).",
);
