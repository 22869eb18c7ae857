import assert from "node:assert/strict";
import { test } from "node:test";
import { ownOptions } from "./own-options.ts";

const taken = (text: string) => {
  const { own, rest } = ownOptions(text === "" ? [] : text.split(" "));
  return [own, rest.join(" ")];
};

test("own options may stand behind the site too", () => {
  assert.deepEqual(taken("--context home get pods"), [{ context: "home" }, "get pods"]);
  assert.deepEqual(taken("--context=home --kubeconfig=/a=b -- get pods"), [
    { context: "home", kubeconfig: "/a=b" },
    "get pods",
  ]);
  assert.deepEqual(taken("--agent-namespace edge get pods"), [{ agentNamespace: "edge" }, "get pods"]);
});

test("what comes later is kubectl's, whatever it is called", () => {
  for (const text of ["", "get pods --context x", "-- --context x", "-n shop --context x get pods", "--context"])
    assert.deepEqual(taken(text), [{}, text.replace(/^-- /, "")]);
});
