import { newObject, OFFLOADED_LABEL, OFFLOADING_NAME, Offloading } from "@fjord/api";
import { Backoff, sleep } from "@fjord/base";
import { isForbidden, Namespace } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { Verdict } from "./admission-review.ts";

/** On the Offloading of a dry run by which an agent asks its API server whether it sees the namespace's label. */
export const QUESTION_LABEL = "fjord.dev/label-question";

const YES = "the API server sees that this namespace is offloaded";

/** Asked where the API server sees the label and nowhere else: that it asks is the answer. */
export function reviewQuestion(): Verdict {
  return { allowed: false, message: YES };
}

/** Labels the namespace, and waits until the API server asks about its pods: it learns of labels by a watch of its own. */
export async function labelInForce(home: Home, namespace: string, signal: AbortSignal): Promise<void> {
  const { client, clock, random } = home;
  const patch = { metadata: { labels: { [OFFLOADED_LABEL]: "true" } } };
  await client.patch(Namespace, { name: namespace }, "merge", patch, { signal });
  const backoff = new Backoff({ initial: 2, max: 100, random });
  while (!(await isSeen(home, namespace, signal))) {
    await sleep(clock, backoff.next(), signal);
    signal.throwIfAborted();
  }
}

async function isSeen({ client }: Home, namespace: string, signal: AbortSignal): Promise<boolean> {
  const metadata = { name: OFFLOADING_NAME, namespace, labels: { [QUESTION_LABEL]: "true" } };
  try {
    await client.create(Offloading, newObject(Offloading, { metadata, spec: {} }), { dryRun: true, signal });
    return false;
  } catch (error) {
    if (isForbidden(error) && error.message.includes(YES)) return true;
    throw error;
  }
}
