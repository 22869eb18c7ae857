import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { KubeClient } from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { TestApi } from "../server/test-api.ts";
import { allCases, type KindCase } from "./testing/cases/index.ts";
import { compared } from "./testing/comparison.ts";
import { type Method, RealServer, rowOf } from "./testing/real-server.ts";
import { comparable, inRange } from "./testing/session-answer.ts";
import { sessions } from "./testing/sessions.ts";
import { KindTrial } from "./testing/trial.ts";

/** Each object is sent to a real API server and to these kinds: both say the same of it. */
describe("kinds as on a real API server", { skip: kubernetesSkip() }, () => {
  const trial = new KindTrial();
  let site: TestSite;
  let real: RealServer;

  before(async () => {
    site = await startTestSite();
    // A budget that has no room answers 429: here that is the answer, and not to be waited out.
    real = new RealServer(new KubeClient(site.config, { tooManyRequestsBudgetMs: 0 }));
    await real.prepare();
  });
  after(() => site?.stop());

  const kinds = Map.groupBy(allCases, ({ group, kind }) => `${kind}${group === "" ? "" : ` of ${group}`}`);
  for (const [name, cases] of kinds) {
    test(name, async (t) => {
      for (const one of cases) await t.test(one.about, () => check(one));
    });
  }

  test("sessions", async (t) => {
    await using ours = await TestApi.start();
    await ours.send("POST", "/api/v1/namespaces/default/serviceaccounts", { body: { metadata: { name: "default" } } });
    for (const { about, steps } of sessions) {
      await t.test(about, async () => {
        for (const [method, path, body, contentType = "application/json"] of steps) {
          const wanted = await real.send(method as Method, path, inRange(body, "10.181."), contentType);
          const headers = { "content-type": contentType };
          const own = inRange(body, "10.96.");
          const { code, text } = await ours.send(method, path, own === undefined ? {} : { body: own, headers });
          const answer = comparable({ code, body: JSON.parse(text) });
          const about = `${method} ${path} ${JSON.stringify(body)}`;
          // The real server takes some mistakes of its clients for its own; here they are the client's, in the same words.
          if (wanted.code === 500) {
            assert.equal(code, 400, about);
            assert.equal(JSON.parse(text).message, (wanted.body as { message?: string }).message, about);
          } else assert.deepEqual(answer, comparable(wanted), about);
        }
      });
    }
  });

  async function check({ group, kind, object, changes = [] }: KindCase): Promise<void> {
    const type = trial.type(group, kind);
    const sent = JSON.parse(JSON.stringify(object)) as KubeObject;
    const wanted = await real.create(type, sent);
    assert.deepEqual(compared(await trial.create(type, sent)), compared(wanted));
    if (wanted.object === undefined || changes.length === 0) return;
    await using kept = await real.keep(type, sent);
    const { columns = [] } = type;
    const row = await kept.row();
    const cells = columns.map(({ value }) => value(row.object, Date.now()));
    assert.deepEqual(rowOf(columns, cells), row.cells);
    for (const change of changes) {
      const next = merged(kept.object, change) as KubeObject;
      const ours = await trial.update(type, next, kept.object);
      assert.deepEqual(compared(ours), compared(await kept.change(change)), `after ${JSON.stringify(change)}`);
    }
  }
});

function merged(value: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(typeof value === "object" ? value : {}) };
  for (const [name, one] of Object.entries(patch)) {
    if (one === null) delete result[name];
    else result[name] = merged(result[name], one);
  }
  return result;
}
