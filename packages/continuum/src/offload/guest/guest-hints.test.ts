import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { newObject, ShadowPod } from "@fjord/api";
import type { Cache } from "@fjord/kube";
import { HintedShadows } from "./guest-hints.ts";

const shown = new Map<string, ShadowPod>();
let stand = "10";
const cache = {
  get: ({ name }: { name: string }) => shown.get(name),
  get health() {
    return { resourceVersion: stand };
  },
} as unknown as Cache<ShadowPod>;

function shadowOf(name: string, uid: string, resourceVersion: string): ShadowPod {
  const spec = { contract: "c-1", originUid: "u-1", pod: { spec: { containers: [{}] } } };
  return newObject(ShadowPod, { metadata: { name, namespace: "ns", uid, resourceVersion }, spec });
}

const created = (body: unknown) => ({ verb: "create", namespace: "ns", name: "", body });
const deleted = (name: string, uid: string) => ({
  verb: "delete",
  namespace: "ns",
  name,
  body: { kind: "Status", status: "Success", details: { name, uid } },
});

beforeEach(() => {
  shown.clear();
  stand = "10";
});

test("what was just made is known before the watch shows it, and once", () => {
  const shadows = new HintedShadows(cache);
  const web = shadowOf("web", "s-1", "12");
  assert.equal(shadows.see(created(web)), true);
  assert.equal(shadows.get("ns", "web"), web);
  const fromWatch = shadowOf("web", "s-1", "12");
  shown.set("web", fromWatch);
  assert.equal(shadows.get("ns", "web"), fromWatch);
  shown.delete("web");
  assert.equal(shadows.get("ns", "web"), undefined);
});

test("what the watch has left behind is not believed in for ever", () => {
  const shadows = new HintedShadows(cache);
  shadows.see(created(shadowOf("web", "s-1", "12")));
  stand = "13";
  assert.equal(shadows.get("ns", "web"), undefined);
  assert.equal(shadows.see(created(shadowOf("late", "s-2", "11"))), false);
});

test("what was just deleted is gone before the watch shows it; another of the name is not", () => {
  const shadows = new HintedShadows(cache);
  shown.set("web", shadowOf("web", "s-1", "9"));
  assert.equal(shadows.see(deleted("web", "s-1")), true);
  assert.equal(shadows.get("ns", "web"), undefined);
  shown.set("web", shadowOf("web", "s-2", "14"));
  assert.equal(shadows.get("ns", "web")?.metadata.uid, "s-2");
});

test("a deletion that a finalizer holds up, and answers of any other shape, tell nothing", () => {
  const shadows = new HintedShadows(cache);
  const held = shadowOf("web", "s-1", "9");
  shown.set("web", held);
  assert.equal(shadows.see({ verb: "delete", namespace: "ns", name: "web", body: held }), false);
  for (const body of [undefined, null, 7, "x", [], {}, { kind: "Status" }, { kind: "ShadowPod" }]) {
    assert.equal(shadows.see({ verb: "delete", namespace: "ns", name: "web", body }), false);
    assert.equal(shadows.see(created(body)), false);
  }
  assert.equal(shadows.get("ns", "web"), held);
});
