import { after, before, describe, test } from "node:test";
import { realNodesSkip } from "@fjord/testbed/testing";
import { CriBed } from "./test-cri-bed.ts";
import { livesSettings, liveThrough } from "./test-lives.ts";

const { seed, rounds } = livesSettings(3);

describe("whole lives of pods of containerd", { skip: realNodesSkip() }, () => {
  let bed: CriBed;

  before(async () => {
    bed = await CriBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test(`through kill -9 of node, containerd and API server (FJORD_LIVES_SEED=${seed})`, { timeout: 3_600_000 }, () =>
    // A containerd that is killed forgets what it was about to start, which the node then starts anew; and it writes
    // logs itself, so that what a container writes while it is away is lost where the container ends before it is back.
    liveThrough({ bed, seed, rounds, mayRestart: ({ rising }) => rising.parts.includes("runtime") }),
  );
});
