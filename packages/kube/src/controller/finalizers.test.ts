import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfigMap } from "../kinds/core.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizers.ts";
import { refusal, TestApi } from "./test-api.ts";

const ours = "fjord.dev/test";

async function makeObject(finalizers?: string[]) {
  const api = new TestApi();
  const metadata = { name: "a", namespace: "default", ...(finalizers && { finalizers }) };
  const object = await api.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
  api.calls.length = 0;
  return { api, object };
}

describe("finalizers", () => {
  test("are added once, beside others, without a write where there is nothing to do", async () => {
    const { api, object } = await makeObject(["other/one"]);
    const added = await addFinalizer(api, ConfigMap, object, ours);
    assert.deepEqual(added.metadata.finalizers, ["other/one", ours]);
    assert.equal(await addFinalizer(api, ConfigMap, added, ours), added);
    assert.deepEqual(api.calls, ["patch ConfigMap default/a"]);
  });

  test("added or removed from a stale copy leave alone what others did meanwhile", async () => {
    const { api, object } = await makeObject();
    await addFinalizer(api, ConfigMap, object, "other/one");
    const added = await addFinalizer(api, ConfigMap, object, ours);
    assert.deepEqual(added.metadata.finalizers, ["other/one", ours]);
    const stale = structuredClone(added);
    await addFinalizer(api, ConfigMap, added, "other/two");
    const removed = await removeFinalizer(api, ConfigMap, stale, ours);
    assert.deepEqual(removed?.metadata.finalizers, ["other/one", "other/two"]);
    assert.equal(hasFinalizer(removed ?? object, ours), false);
  });

  test("removing one that is not there, or from an object that is gone, is no error", async () => {
    const { api, object } = await makeObject([ours]);
    await removeFinalizer(api, ConfigMap, object, "other/one");
    assert.deepEqual(api.calls, []);
    api.objects.clear();
    assert.equal(await removeFinalizer(api, ConfigMap, object, ours), undefined);
  });

  test("never land on another object of the same name", async () => {
    const { api, object } = await makeObject([ours]);
    api.objects.clear();
    await api.create(ConfigMap, { ...object, metadata: { ...object.metadata, uid: "another" } });
    assert.equal(await removeFinalizer(api, ConfigMap, object, ours), undefined);
    await assert.rejects(addFinalizer(api, ConfigMap, object, "fjord.dev/more"), { code: "KUBE_OBJECT_GONE" });
    assert.deepEqual(api.all(ConfigMap)[0]?.metadata.finalizers, [ours]);
  });

  test("are refused for what is being deleted", async () => {
    const { api, object } = await makeObject(["other/one"]);
    object.metadata.deletionTimestamp = "2030-01-01T00:00:00Z";
    await assert.rejects(addFinalizer(api, ConfigMap, object, ours), {
      message: "cannot add finalizer fjord.dev/test to ConfigMap default/a: it is being deleted",
    });
  });

  test("a refusal that has nothing to do with others' changes comes out as it is", async () => {
    const { api, object } = await makeObject();
    api.onCall = (call) => {
      if (call.startsWith("patch")) throw refusal(422, "Invalid");
    };
    await assert.rejects(addFinalizer(api, ConfigMap, object, "not valid"), { reason: "Invalid" });
    assert.deepEqual(api.calls, ["patch ConfigMap default/a", "get ConfigMap default/a"]);
  });

  test("give up on an object that changes all the time", async () => {
    const { api, object } = await makeObject([ours]);
    let turn = 0;
    api.onCall = (call, phase) => {
      if (call.startsWith("patch") && phase === "request") {
        api.put(ConfigMap, { ...object, metadata: { ...object.metadata, finalizers: [ours, `other/${turn++}`] } });
      }
    };
    await assert.rejects(removeFinalizer(api, ConfigMap, object, ours), { code: "KUBE_OBJECT_BUSY" });
  });
});
