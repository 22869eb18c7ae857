import { createHash } from "node:crypto";
import type { Offloading } from "@fjord/api";
import type { SiteId } from "../../site-identity.ts";

const LONGEST = 63;

/** What the twin of a namespace is to be called. A name that the suffix makes too long is cut, and marked with its hash. */
export function twinName(naming: Offloading["spec"]["naming"], namespace: string, own: SiteId): string {
  if (naming.strategy === "Same") return namespace;
  if (naming.strategy === "Chosen" && naming.name !== undefined) return naming.name;
  const suffix = `-${own}`;
  if (namespace.length + suffix.length <= LONGEST) return namespace + suffix;
  const mark = createHash("sha256").update(namespace).digest("hex").slice(0, 8);
  return `${namespace.slice(0, LONGEST - suffix.length - mark.length - 1)}-${mark}${suffix}`;
}
