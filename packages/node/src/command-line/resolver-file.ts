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
