import { after, before, describe, test } from "node:test";
import { realNodesSkip } from "@fjord/testbed/testing";
import { surviveAlone, surviveUpgrade } from "./test-autonomy.ts";
import { CriBed } from "./test-cri-bed.ts";

describe("a node of containerd by itself", { skip: realNodesSkip(), timeout: 600_000 }, () => {
  let bed: CriBed;

  before(async () => {
    bed = await CriBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  test("an upgrade leaves pods running", () => surviveUpgrade(bed));
  test("keeps and brings back its pods without the API, and meets it again", () => surviveAlone(bed));
});
