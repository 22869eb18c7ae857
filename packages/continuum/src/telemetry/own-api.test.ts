import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, type KubeClient } from "@fjord/kube";
import type { PeerCall, PeerRoute } from "../peer-routes.ts";
import { OwnApi } from "./own-api.ts";

function start(answer: () => Promise<unknown>) {
  const clock = new ManualClock();
  const client = { raw: answer } as unknown as Pick<KubeClient, "raw">;
  return { clock, api: new OwnApi({ client, clock, logger: silentLogger }) };
}

test("an API that answers has no problem, even where it says no", async () => {
  assert.equal(await start(async () => ({})).api.problem(), undefined);
  const forbidden = new ApiError({ action: "get", statusCode: 403, text: "no" });
  assert.equal(await start(() => Promise.reject(forbidden)).api.problem(), undefined);
});

test("an API that refuses connections, or is not ready, is away at once and back at once", async () => {
  let error: Error | undefined = new Error("connect ECONNREFUSED");
  const { api } = start(() => (error === undefined ? Promise.resolve({}) : Promise.reject(error)));
  assert.match((await api.problem()) ?? "", /ECONNREFUSED/);
  error = new ApiError({ action: "get", statusCode: 500, text: "etcd failed" });
  assert.match((await api.problem()) ?? "", /etcd failed/);
  error = undefined;
  assert.equal(await api.problem(), undefined);
});

test("an API that is slow keeps nobody waiting, and has its patience before it counts as away", async () => {
  const { api, clock } = start(() => new Promise(() => {}));
  const ask = async () => {
    const answer = api.problem();
    await clock.advance(200);
    return answer;
  };
  assert.equal(await ask(), undefined);
  await clock.advance(3_000);
  assert.equal(await ask(), undefined);
  await clock.advance(2_000);
  assert.match((await ask()) ?? "", /not answered/);
});

test("a route is refused while the API is away", async () => {
  let isAway = true;
  const { api } = start(() => (isAway ? Promise.reject(new Error("gone")) : Promise.resolve({})));
  const route: PeerRoute = { method: "GET", path: "/site", access: "peer", handle: async () => "report" };
  const guarded = api.guard(route);
  assert.deepEqual([guarded.path, guarded.access], ["/site", "peer"]);
  await assert.rejects(guarded.handle({} as PeerCall), /Kubernetes API does not answer.*KubernetesAway/);
  isAway = false;
  assert.equal(await guarded.handle({} as PeerCall), "report");
});
