import { after, before, describe, test } from "node:test";
import { type KubectlVersion, kubectlSkip, kubernetesSkip } from "@fjord/testbed/testing";
import { chapters, lastChapters, moreChapters } from "./chapters/index.ts";
import { NEWEST, SessionBed } from "./test-session-bed.ts";

/** Hundreds of commands at two sites take minutes, so they are typed where that is asked for; `all` with an older kubectl, too. */
const { FJORD_TEST_KUBECTL: asked } = process.env;
const isWhole = asked === "all";
const unasked = asked === undefined && "FJORD_TEST_KUBECTL=1 types what users do most, FJORD_TEST_KUBECTL=all the rest";
const versions: readonly KubectlVersion[] = isWhole ? [NEWEST, "old"] : [NEWEST];
const sideBySide = isWhole ? [...chapters, ...moreChapters] : chapters;

/** What real kubectl shows its user is the same on microkube and on Kubernetes. */
describe("kubectl as on Kubernetes", { skip: unasked || kubernetesSkip(), timeout: 3_600_000 }, () => {
  let bed: SessionBed;

  before(async () => {
    bed = await SessionBed.start();
  });
  after(() => bed?.[Symbol.asyncDispose]());

  for (const version of versions)
    describe(`kubectl ${version}`, { skip: kubectlSkip(version), concurrency: 4 }, () => {
      for (const chapter of sideBySide) test(chapter.about, () => bed.check(chapter, version));
    });

  describe("what others stand on", { skip: !isWhole && "FJORD_TEST_KUBECTL=all goes through it" }, () => {
    before(async () => {
      await bed.removeNamespaces();
      await bed.startProcessNodes();
    });
    for (const version of versions)
      for (const chapter of lastChapters) {
        test(`${chapter.about}, kubectl ${version}`, { skip: kubectlSkip(version) }, () => bed.check(chapter, version));
      }
  });
});
