import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Link } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { type Cache, CustomResourceDefinition, KubeClient } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { fitLink } from "./link-room.ts";
import type { Group } from "./network-state.ts";
import { OwnObjects } from "./own-objects.ts";
import { isRefusedWrite } from "./refused-write.ts";
import { longAddresses, longGroups, longLink } from "./test-links.ts";

describe("a Link of all that may be said", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  const { signal } = new AbortController();
  let site: SharedTestSite;
  let client: KubeClient;
  let links: OwnObjects<Link>;
  const local = longAddresses(4, 100_000);
  const introduced = (count: number, groups: number): ReadonlyMap<string, readonly Group[]> =>
    new Map(
      Array.from({ length: count }, (_, index) => [
        `c${index}`,
        longGroups(`c${index}`, groups, local, longAddresses(8192 / groups)),
      ]),
    );

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    const [definition] = customResourceDefinitions().filter(({ spec }) => spec.names.kind === Link.kind);
    await client.apply(CustomResourceDefinition, definition as never, { fieldManager: "fjord-test" });
    for await (const { object } of client.watch(CustomResourceDefinition, {
      fieldSelector: "metadata.name=links.fjord.dev",
    })) {
      const conditions = "status" in object ? (object.status?.conditions ?? []) : [];
      if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
    }
    // Nothing is heard of what others write.
    const cache = { get: () => undefined, list: () => [] } as unknown as Cache<Link>;
    links = new OwnObjects(client, Link, cache);
  });
  after(async () => {
    await links?.remove(longLink([], 0).spec.site, signal);
    await client?.close();
  });

  it("is refused as it is, and stored as it is fitted, when it is made and when it is changed", async () => {
    const { spec } = longLink([], 0);
    const all = [...introduced(5, 1).values()].flat();
    await assert.rejects(links.keep(spec.site, longLink(all, 100).spec, signal), (error) => isRefusedWrite(error));
    for (const [consumers, groups, own, guests] of [
      [5, 1, 0, 100],
      [64, 256, 100, 20_000],
      [64, 1, 1_024, 0],
      [0, 0, 1_024, 20_000],
    ] as const) {
      const wanted = longLink(longGroups("own", own, local, longAddresses(64)), guests).spec;
      const fitted = fitLink(wanted, introduced(consumers, groups));
      const { metadata, ...stored } = await links.keep(spec.site, fitted.spec, signal);
      assert.ok(JSON.stringify({ metadata, ...stored }).length > 1_000_000);
      assert.deepEqual(stored.spec.groups.length, fitted.spec.groups.length);
      const ready = { type: "Ready", status: "False", reason: "NotApplied", message: "x".repeat(32_000) };
      const conditions = [{ ...ready, lastTransitionTime: "2030-01-01T00:00:00Z" }];
      await links.say({ metadata, ...stored } as Link, { conditions } as never, signal);
    }
  });
});
