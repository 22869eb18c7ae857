import { describe, test } from "node:test";
import { findBinaries } from "@fjord/testbed";
import { helmSkip, kubernetesSkip } from "@fjord/testbed/testing";
import { releases } from "./chapters/releases.ts";
import { NEWEST, SessionBed } from "./test-session-bed.ts";

const unasked = process.env.FJORD_TEST_HELM === "1" ? false : "FJORD_TEST_HELM=1 tests Helm";

/** Helm takes minutes to build where it is not at hand, so it is tested where it is asked for. */
describe("Helm as on Kubernetes", { skip: unasked || kubernetesSkip() || helmSkip(), timeout: 300_000 }, () => {
  test(releases.about, async () => {
    await using bed = await SessionBed.start();
    const { binaries } = findBinaries({ env: process.env, sets: ["helm"] });
    await bed.check(releases, NEWEST, { helm: binaries.path("helm") });
  });
});
