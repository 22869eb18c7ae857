import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** The machine's own: interfaces as Node tells them, and the kernel's routes as text. */
export interface HostNetwork {
  readonly interfaces: NodeJS.Dict<readonly { address: string; family: string; internal: boolean }[]>;
  readonly routes: string;
}

export function hostNetwork(): HostNetwork {
  return { interfaces: networkInterfaces(), routes: readRoutes() };
}

function readRoutes(): string {
  try {
    return readFileSync("/proc/net/route", "utf8");
  } catch {
    // Elsewhere than on Linux, any address will have to do.
    return "";
  }
}

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

/**
 * Where pods are told to find the API, as kube-apiserver chooses it: where it listens, or, where that is every address or one
 * that only this machine has, the address of the interface that leads elsewhere. A cluster on loopback stays there.
 */
export function advertisedAddress(host: string, onLoopback: boolean, network: () => HostNetwork): string | undefined {
  if (isLoopback(host) && onLoopback && isIP(host) !== 0) return host;
  if (isIP(host) !== 0 && !isLoopback(host) && host !== "0.0.0.0" && host !== "::") return host;
  const { interfaces, routes } = network();
  const chosen = defaultInterface(routes);
  const all = Object.entries(interfaces).toSorted(
    ([one], [other]) => Number(other === chosen) - Number(one === chosen),
  );
  const addresses = all.flatMap(([, ones = []]) => ones).filter(({ internal }) => !internal);
  const usable = addresses.filter(({ address }) => !address.startsWith("fe80:") && !address.startsWith("169.254."));
  const first = (family: string) => usable.find((one) => one.family === family)?.address;
  return host === "::" ? (first("IPv6") ?? first("IPv4")) : (first("IPv4") ?? first("IPv6"));
}

/** By the kernel's table: the one with a route to everywhere. */
function defaultInterface(routes: string): string | undefined {
  const lines = routes.split("\n").map((line) => line.split(/\s+/));
  return lines.find(([, destination, , , , , , mask]) => destination === "00000000" && mask === "00000000")?.[0];
}
