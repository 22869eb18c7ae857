import type { Link } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import { isSaidSilent } from "./link-status.ts";

/** Calls with the peer whose link has fallen silent, or is no longer. */
export function onSilence(links: Pick<Cache<Link>, "addHandler">, listener: (site: SiteId) => void): () => void {
  const tell = (link: Link) => {
    if (isSaidSilent(link)) listener(link.spec.site);
  };
  return links.addHandler({
    onAdd: tell,
    onUpdate: (before, now) => {
      if (isSaidSilent(before) !== isSaidSilent(now)) listener(now.spec.site);
    },
    onDelete: tell,
  });
}
