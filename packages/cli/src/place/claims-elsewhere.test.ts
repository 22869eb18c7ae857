import assert from "node:assert/strict";
import { test } from "node:test";
import { Offloading, type Site } from "@fjord/api";
import type { KubeClient, PersistentVolumeClaim } from "@fjord/kube";
import { claimsBoundAt, refuseToLoseData } from "./claims-elsewhere.ts";

const site = (name: string, id: string) => ({ metadata: { name }, spec: { id } }) as unknown as Site;
const claim = (name: string, ...conditions: readonly [type: string, status: string][]) =>
  ({
    metadata: { name, namespace: "shop" },
    status: { phase: "Pending", conditions: conditions.map(([type, status]) => ({ type, status })) },
  }) as unknown as PersistentVolumeClaim;

test("claims with a volume at a site are those whose twin there is bound", () => {
  const claims = [
    claim("data", ["fjord.dev/wave-id", "True"]),
    claim("waits", ["fjord.dev/wave-id", "False"]),
    claim("elsewhere", ["fjord.dev/reef-id", "True"]),
    claim("home"),
    { metadata: { name: "new", namespace: "shop" } } as PersistentVolumeClaim,
  ];
  assert.deepEqual(claimsBoundAt(claims, [site("lively-wave", "wave-id")]), ["shop/data"]);
  const both = [site("lively-wave", "wave-id"), site("reef", "reef-id")];
  assert.deepEqual(claimsBoundAt(claims, both), ["shop/data", "shop/elsewhere"]);
  assert.deepEqual(claimsBoundAt(claims, []), []);
  assert.deepEqual(claimsBoundAt(claims, [site("unproven", undefined as unknown as string)]), []);
});

test("claims count where their namespace is, and not once it comes home or has left the site", async () => {
  const [wave, signal] = [site("lively-wave", "wave-id"), AbortSignal.timeout(60_000)];
  const refused = (metadata?: object, status?: object) => {
    const offloaded = metadata === undefined ? [] : [{ metadata: { namespace: "shop", ...metadata }, status }];
    const claims = [claim("data", ["fjord.dev/wave-id", "True"])];
    const list = async (kind: unknown) => ({ items: kind === Offloading ? offloaded : claims });
    return refuseToLoseData({ list } as unknown as KubeClient, [wave], { signal });
  };
  const lost = /volumes at lively-wave would be deleted .*: those of the claims shop\/data/;
  await assert.rejects(refused({}), lost);
  await assert.rejects(refused({}, { sites: [{ site: "reef-id" }, { site: "wave-id" }] }), lost);
  await refused({}, { sites: [{ site: "reef-id" }] });
  await refused({}, { sites: [] });
  await refused({ deletionTimestamp: "2030-01-01T00:00:00Z" });
  await refused({ namespace: "elsewhere" });
  await refused();
});
