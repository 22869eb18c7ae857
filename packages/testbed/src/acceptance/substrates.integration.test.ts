import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL } from "@fjord/api";
import { fjord } from "../agents/index.ts";
import { kubernetesSkip, testSubstrates } from "../testing.ts";
import { AcceptanceBed, eventually, type PodShape } from "./acceptance-bed.ts";
import { deployment, namespace } from "./workloads.ts";

/* The short form of the suites on both kinds of control planes; `npm run suites` has all of them. */

const SMALL = "site-1";
const LARGE = "site-2";
const DIRECTIONS = [
  [SMALL, LARGE],
  [LARGE, SMALL],
] as const;

describe("microkube and Kubernetes, each a node of the other", { skip: kubernetesSkip(), timeout: 300_000 }, () => {
  let bed: AcceptanceBed;
  const inventories = new Map<string, string[]>();

  before(async () => {
    const kubernetes = testSubstrates(["microkube", "1.36"]);
    bed = await AcceptanceBed.start({ sites: 2, simulatedNodes: 1, kubernetes }, () => ({ timeout: 120_000 }));
    for (const [site] of DIRECTIONS) inventories.set(site, await bed.inventory(site));
    for (const [consumer, provider] of DIRECTIONS) {
      await bed.peer(consumer, provider, "--cpu=8", "--memory=8Gi", "--pods=20", "--timeout=120s");
    }
  });

  after(() => bed?.[Symbol.asyncDispose]());

  it("a Deployment crosses the border in both directions", async () => {
    for (const [consumer, provider] of DIRECTIONS) {
      await bed.apply(consumer, namespace("abroad"));
      await fjord(bed.site(consumer), "offload", "abroad", "--pods=Remote");
      await bed.apply(consumer, deployment("web", { namespace: "abroad" }));
      await bed.rolledOut(consumer, "abroad", "deployment/web");
      assert.deepEqual(Object.values(await bed.placement(consumer, "abroad")), [provider, provider]);
      const twin = await bed.twin(consumer, "abroad");
      const guests = await bed.get<{ items: PodShape[] }>(provider, "pods", `-n=${twin}`);
      assert.deepEqual(
        guests.items.map(({ status }) => status.phase),
        ["Running", "Running"],
      );
    }
  });

  it("unpeering leaves nothing behind, on either side", async () => {
    await Promise.all(
      DIRECTIONS.map(async ([consumer, provider]) => {
        await fjord(bed.site(consumer), "unpeer", provider);
        await bed.kubectl(consumer, "delete", "namespace", "abroad", "--wait=false");
      }),
    );
    for (const [site, was] of inventories) {
      await eventually(`nothing is left at ${site}`, async () => {
        const more = (await bed.inventory(site)).filter((each) => !was.includes(each));
        if (more.length > 0) throw new Error(more.join(" "));
        return true;
      });
    }
  });

  it("a consumer that is gone for good leaves nothing behind where its provider unpeers by force", async () => {
    await fjord(bed.site(SMALL), "peer", LARGE, "--cpu=8", "--memory=8Gi", "--pods=20");
    await eventually("the namespace of before is gone", () =>
      bed.kubectl(SMALL, "wait", "--for=delete", "namespace/abroad", "--timeout=5s").then(() => true),
    );
    await bed.apply(SMALL, namespace("abroad"));
    await fjord(bed.site(SMALL), "offload", "abroad", "--pods=Remote");
    await bed.apply(SMALL, deployment("web", { namespace: "abroad" }));
    await bed.rolledOut(SMALL, "abroad", "deployment/web");
    for (const each of bed.site(SMALL).processes) if (each.running) await each.kill();
    const guests = () =>
      bed.kubectl(LARGE, "get", "pods", "--all-namespaces", `--selector=${CONSUMER_LABEL}`, "-o=name");
    assert.equal((await guests()).trim().split("\n").length, 2, "they run on until their provider's owner ends it");
    assert.match(await fjord(bed.site(LARGE), "unpeer", SMALL, "--force"), /site-1 forgotten/);
    const was = inventories.get(LARGE) ?? [];
    await eventually("nothing is left", async () => {
      const more = (await bed.inventory(LARGE)).filter((each) => !was.includes(each));
      if (more.length > 0) throw new Error(more.join(" "));
      return true;
    });
    await assert.rejects(bed.kubectl(LARGE, "get", "site", SMALL), /NotFound/);
  });
});
