import type { Offloading } from "@fjord/api";
import type { SiteId } from "../../identity/site-identity.ts";

const LONGEST = 63;

/** What the twin of a namespace is to be called. A name that a suffix makes too long is cut; the id keeps it unique per site. */
export function twinName(naming: Offloading["spec"]["naming"], namespace: string, own: SiteId): string {
  if (naming.strategy === "Same") return namespace;
  if (naming.strategy === "Chosen" && naming.name !== undefined) return naming.name;
  const suffix = `-${own}`;
  if (namespace.length + suffix.length <= LONGEST) return namespace + suffix;
  const mark = shortHash(namespace);
  return `${namespace.slice(0, LONGEST - suffix.length - mark.length - 1)}-${mark}${suffix}`;
}

/** Eight characters that tell long names with the same beginning apart (FNV-1a twice). */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36).padStart(7, "0");
}
