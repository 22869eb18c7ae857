import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type OwnTried, runOwnTrials, withSeenByPods } from "./own-trials.ts";
import type { Asker, Outcome } from "./trials.ts";

const chances = {
  namespace: "test",
  asker: { namespace: "test", pod: "here" },
  targets: [{ address: "240.0.3.9", port: 8080 }],
  service: { name: "at-wave", port: 8080 },
};
const outsider: Asker = { namespace: "outside", pod: "here" };
const neighbour = { asker: { namespace: "outside", pod: "there" }, address: "10.42.3.9" };
const asksFor = { closed: "8081", file: "bulk" };

/** Answers all but what is named. */
const tried = (refused: (asker: string, script: string) => boolean) =>
  runOwnTrials(chances, {
    to: "wave",
    outsider,
    neighbour,
    run: async ({ namespace, pod }, script) => (refused(`${namespace}/${pod}`, script) ? 1 : 0),
  });
const isOutside = (asker: string, script: string) => asker === "outside/here" && !script.includes(asksFor.closed);

describe("what pods of a test's own are asked", () => {
  it("passes where those that may are answered, others are not, and a policy keeps a port closed", async () => {
    const all = await tried((asker, script) => isOutside(asker, script) || script.includes(asksFor.closed));
    assert.deepEqual(
      Object.values(all).map(({ result }) => result),
      Array(5).fill("Passed"),
    );
    assert.match(all.policy.detail, /out of reach for outside\/here; a NetworkPolicy is kept to/);
  });

  it("fails where a policy is kept to at the other site and not over the link", async () => {
    const { policy } = await tried(
      (asker, script) => isOutside(asker, script) || (asker === "outside/there" && script.includes(asksFor.closed)),
    );
    assert.equal(policy.result, "Failed");
    assert.match(policy.detail, /240\.0\.3\.9:8081, which a NetworkPolicy closes/);
  });

  it("does not blame the link where the pods' network of the other site keeps to no policies", async () => {
    const { policy } = await tried(isOutside);
    assert.equal(policy.result, "Passed");
    assert.deepEqual(policy.except, ["NetworkPolicies: the pods' network of wave does not seem to enforce them"]);
  });

  it("fails where an outsider is answered, whatever policies do", async () => {
    const { policy } = await tried((_, script) => script.includes(asksFor.closed));
    assert.deepEqual([policy.result, policy.except], ["Failed", undefined]);
  });

  it("fails where small packets come, and large ones do not", async () => {
    const { bulk, pod } = await tried((_, script) => script.includes(asksFor.file));
    assert.deepEqual([pod.result, bulk.result], ["Passed", "Failed"]);
    assert.match(bulk.detail, /a file of 64 KiB at 240\.0\.3\.9:8080 does not come to test\/here/);
  });

  it("says nothing of policies and packets where nobody is answered", async () => {
    const { pod, policy, bulk } = await tried(() => true);
    assert.deepEqual(
      [pod, policy, bulk].map(({ result }) => result),
      ["Failed", "NotTested", "NotTested"],
    );
    const { bulk: unasked } = await runOwnTrials(
      { lack: "no pod is ready at wave" },
      { to: "wave", run: async () => 0 },
    );
    assert.deepEqual(unasked, { result: "NotTested", detail: "no pod is ready at wave" });
  });
});

describe("what pods see of a link", () => {
  const outcome = (result: Outcome["result"], detail = "") => ({ result, detail }) as const;
  const unseen = { link: outcome("NotTested"), latency: outcome("NotTested"), mtu: outcome("NotTested") };
  const pods = (pod: Outcome["result"], bulk: Outcome["result"]) =>
    ({ pod: outcome(pod), bulk: outcome(bulk, "a file does not come") }) as OwnTried;

  it("counts where no gateway could be asked", () => {
    const { link, latency, mtu } = withSeenByPods(unseen, pods("Passed", "Passed"));
    assert.deepEqual([link.result, latency.result, mtu.result], ["Passed", "NotTested", "Passed"]);
    assert.equal(withSeenByPods(unseen, pods("Failed", "NotTested")).link.result, "NotTested");
  });

  it("takes nothing away from what gateways have measured, but for packets that do not come", () => {
    const seen = {
      link: outcome("Failed", "Silent"),
      latency: outcome("Passed", "1.0ms"),
      mtu: outcome("Passed", "1380"),
    };
    assert.deepEqual(withSeenByPods(seen, pods("Passed", "Passed")), seen);
    assert.deepEqual(withSeenByPods(seen, pods("Passed", "Failed")).mtu, outcome("Failed", "a file does not come"));
  });
});
