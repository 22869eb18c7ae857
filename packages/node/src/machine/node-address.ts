import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { describeError } from "@fjord/base";
import { NoAddress } from "./errors.ts";

/**
 * The address of this machine on the way to a server: the one that the server's side most likely reaches it by. Nothing
 * is sent; the kernel says which address it would use.
 */
export async function addressTowards(server: string): Promise<string> {
  try {
    const { hostname, port } = new URL(server);
    const host = hostname.replace(/^\[|\]$/g, "");
    const address = isIP(host) === 0 ? (await lookup(host)).address : host;
    const socket = createSocket(isIP(address) === 6 ? "udp6" : "udp4");
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("error", reject);
        socket.connect(Number(port) || 443, address, () => resolve());
      });
      return socket.address().address;
    } finally {
      socket.close();
    }
  } catch (error) {
    // No route to it now: an address of a network that is up is the next best, and the only one where it is cut off.
    const other = firstExternalAddress();
    if (other !== undefined) return other;
    throw new NoAddress({ server, reason: describeError(error) }, { cause: error });
  }
}

function firstExternalAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const external = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80"));
  return (external.find(({ family }) => family === "IPv4") ?? external[0])?.address;
}
