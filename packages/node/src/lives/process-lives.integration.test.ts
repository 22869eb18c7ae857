import { after, before, describe, test } from "node:test";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { livesSettings, liveThrough } from "./test-lives.ts";
import { ProcessBed } from "./test-process-bed.ts";

const { seed, rounds } = livesSettings(4);

describe("whole lives of pods of plain processes", { skip: kubernetesSkip() }, () => {
  let bed: ProcessBed;

  before(async () => {
    bed = await ProcessBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test(`through kill -9 of node and API server (FJORD_LIVES_SEED=${seed})`, { timeout: 3_600_000 }, () =>
    liveThrough({ bed, seed, rounds, mayRestart: () => false }),
  );
});
