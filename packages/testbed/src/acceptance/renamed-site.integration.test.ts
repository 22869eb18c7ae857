import assert from "node:assert/strict";
import { it } from "node:test";
import { Site } from "@fjord/api";
import { KubeClient } from "@fjord/kube";
import { startSiteAgent } from "../agents/index.ts";
import { kubernetesSkip, startTestBed } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";

const SEVERAL = ["--leader-elect", "--leader-elect-lease-duration=7s"];

it("a site that is called otherwise has one Site, though an agent of the name before leads until it ends", {
  skip: kubernetesSkip(),
  timeout: 180_000,
}, async () => {
  await using bed = await startTestBed({ sites: 1 });
  const site = bed.site("site-1");
  await using client = new KubeClient(site.config, { closeGraceMs: 500 });
  const owns = async () =>
    (await client.list(Site)).items
      .filter(({ status }) => status?.role === "Self")
      .map(({ metadata }) => metadata.name)
      .sort();
  const before = await startSiteAgent(site, { flags: SEVERAL });
  await eventually("it has its Site", async () => (await owns()).includes("site-1"));
  const sharing = { resources: { cpu: "2" } };
  await client.patch(Site, { name: "site-1" }, "merge", { spec: { sharing } });

  // As while a Deployment is rolled out.
  await startSiteAgent(site, { name: "cove", process: "fjord-agent-2", flags: SEVERAL });
  await eventually("the one that leads has its Site again", async () => (await owns()).includes("site-1"));
  await before.process.stop();

  await eventually("there is one", async () => (await owns()).join() === "cove");
  assert.deepEqual((await client.get(Site, { name: "cove" })).spec.sharing?.resources, sharing.resources);
});
