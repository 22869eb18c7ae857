import { networkInterfaces } from "node:os";
import type { DnsSettings } from "../pod/pod-settings.ts";

/** The resolver settings of a `resolv.conf`. */
export function parseResolverFile(text: string): DnsSettings {
  const words = text
    .split("\n")
    .map((line) =>
      line
        .replace(/[#;].*/, "")
        .trim()
        .split(/\s+/),
    )
    .filter(([keyword]) => keyword !== "");
  const after = (keyword: string) => words.filter(([first]) => first === keyword).map(([, ...rest]) => rest);
  return {
    servers: after("nameserver").flatMap(([server]) => server ?? []),
    // The last line counts.
    searches: after("search").at(-1) ?? [],
    options: after("options").flat(),
  };
}

/** The machine's own address: the first that others can reach it by, else the loopback one. */
export function machineAddress(interfaces = networkInterfaces()): string {
  const addresses = Object.values(interfaces).flatMap((each) => each ?? []);
  const usable = addresses.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (usable.find(({ family }) => family === "IPv4") ?? usable[0])?.address ?? "127.0.0.1";
}
