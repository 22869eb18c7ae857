import { after, before, describe, test } from "node:test";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { surviveAlone, surviveUpgrade } from "./test-autonomy.ts";
import { ProcessBed } from "./test-process-bed.ts";

describe("a node of plain processes by itself", { skip: kubernetesSkip(), timeout: 600_000 }, () => {
  let bed: ProcessBed;

  before(async () => {
    bed = await ProcessBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test("an upgrade leaves pods running", () => surviveUpgrade(bed));
  test("keeps and brings back its pods without the API, and meets it again", () => surviveAlone(bed));
});
