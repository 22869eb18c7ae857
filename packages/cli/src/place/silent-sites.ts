import { type Clock, sleep } from "@fjord/base";
import { type KnownPlaces, silenceOf, siteNameOfNode } from "./known-places.ts";

/** Longer than a site is given before it counts as away, so that it is told of soon and asked for seldom. */
const LOOK_MS = 5_000;

interface SilenceWatch {
  places(signal: AbortSignal): Promise<KnownPlaces>;
  told(text: string): void;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Tells when the sites behind some nodes fall silent, and when they answer again, until the signal aborts: what waits for such a site
 * looks like one that has nothing to say.
 */
export async function watchSilence(nodes: readonly string[], watch: SilenceWatch): Promise<void> {
  const { told, clock, signal } = watch;
  const silent = new Map<string, string>();
  while (!signal.aborted) {
    await sleep(clock, LOOK_MS, signal);
    const places = signal.aborted ? undefined : await watch.places(signal).catch(() => undefined);
    // Where this site's own API does not answer nothing is known of others.
    if (places === undefined || signal.aborted) continue;
    for (const node of new Set(nodes)) {
      const silence = silenceOf(places, node);
      const name = siteNameOfNode(places, node);
      if (silence !== undefined && !silent.has(node)) told(`${silence}; waiting for it`);
      if (silence === undefined && silent.has(node)) told(`${name} answers again`);
      if (silence === undefined) silent.delete(node);
      else silent.set(node, silence);
    }
  }
}
