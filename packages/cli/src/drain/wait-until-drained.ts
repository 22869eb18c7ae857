import { type Clock, sleep } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { withDeadline } from "../command-line/deadline.ts";
import type { WaitOptions } from "../command-line/wait-for.ts";
import { TimedOut } from "../errors.ts";
import { drainFacts } from "./drain-facts.ts";
import { drainProgress } from "./drain-progress.ts";

const LOOK_AGAIN_MS = 500;

interface DrainWait extends WaitOptions {
  readonly clock: Clock;
}

/** Looks at the pods of a contract, wherever this site is in it, until there are none. */
export async function waitUntilDrained(client: KubeClient, contract: string, options: DrainWait): Promise<void> {
  const { clock, signal, timeoutMs, what, told = () => {} } = options;
  let last = "";
  const late = () => new TimedOut({ what, seconds: timeoutMs / 1000, last: last || "the API has not answered" });
  await withDeadline({ signal, clock, timeoutMs, late }, async (either) => {
    for (;;) {
      const progress = drainProgress(await drainFacts(client, contract, clock.now(), either));
      if (progress.done) return;
      if (progress.progress !== last) told(progress.progress);
      last = progress.progress;
      await sleep(clock, LOOK_AGAIN_MS, either);
      either.throwIfAborted();
    }
  });
}
