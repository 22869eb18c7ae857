import assert from "node:assert/strict";
import { it } from "node:test";
import type { PodStanding } from "./pod-standing.ts";
import { progressOf } from "./pods-progress.ts";
import { TEST_NAMESPACES } from "./trial-objects.ts";

it("says of each place how many of its pods are ready, and says nothing else of it", () => {
  const places = ["here", "wave", "wood"].map((site) => ({ site, name: `at-${site}` }));
  const waits: PodStanding = { isReady: false, why: "it does not answer yet", isHopeless: false };
  const ready: PodStanding = { isReady: true };
  const [one, other] = TEST_NAMESPACES;
  const standings = new Map<string, PodStanding>([
    [`${one}/at-here`, ready],
    [`${other}/at-here`, ready],
    [`${one}/at-wave`, ready],
    [`${other}/at-wave`, waits],
    [`${one}/at-wood`, waits],
    [`${other}/at-wood`, waits],
  ]);
  assert.equal(
    progressOf(places, standings),
    "3 of 6 pods are ready: 1 of 2 pods is ready at wave: it does not answer yet; no pod is ready at wood: it does not answer yet",
  );
});
