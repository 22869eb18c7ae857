import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Kind } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { StoredObjects } from "./stored-objects.ts";

const template = (storage: string) => ({ spec: { resources: { requests: { storage } } } });
const bringing = (volumes: Readonly<Record<string, string>>) => ({
  volumes: Object.entries(volumes).map(([name, storage]) => ({
    name,
    ephemeral: { volumeClaimTemplate: template(storage) },
  })),
});
const shadow = (name: string, volumes: Readonly<Record<string, string>>) => ({
  metadata: { name },
  spec: { pod: { spec: bringing(volumes) } },
});
const pod = (name: string, volumes: Readonly<Record<string, string>>) => ({
  metadata: { name },
  spec: bringing(volumes),
});
const claim = (name: string, storage: string) => ({ metadata: { name }, ...template(storage) });

interface Namespace {
  readonly shadowpods?: readonly unknown[];
  readonly pods?: readonly unknown[];
  readonly persistentvolumeclaims?: readonly unknown[];
}

/** An API with one namespace, which gives one object a page. */
function stored(namespace: Namespace) {
  const list = async ({ plural }: Kind, { continue: from = "0" }: { readonly continue?: string }) => {
    const objects = namespace[plural as keyof Namespace] ?? [];
    const next = Number(from) + 1;
    return { items: objects.slice(next - 1, next), metadata: next < objects.length ? { continue: `${next}` } : {} };
  };
  return new StoredObjects({
    client: { list } as unknown as KubeClient,
    namespacesOf: () => ["shop"],
    customResources: () => [],
  });
}

async function bytes(namespace: Namespace): Promise<number> {
  return (await stored(namespace).claims("c")).values().reduce((sum, each) => sum + each, 0);
}

describe("a count of volumes", () => {
  test("has each once that comes with a pod, however far it is", async () => {
    const shadowpods = [shadow("a", { scratch: "6", more: "1" })];
    const pods = [pod("a", { scratch: "6", more: "1" })];
    const persistentvolumeclaims = [claim("a-scratch", "6"), claim("own", "2")];
    assert.equal(await bytes({ shadowpods }), 7);
    assert.equal(await bytes({ shadowpods, pods }), 7);
    assert.equal(await bytes({ shadowpods, pods, persistentvolumeclaims }), 9);
    assert.equal(await bytes({ pods, persistentvolumeclaims }), 9);
    assert.equal(await bytes({ persistentvolumeclaims }), 8);
  });

  test("has what a pod was made with, whatever its shadow pod says since", async () => {
    const persistentvolumeclaims = [claim("a-scratch", "6")];
    const changes: Record<string, string>[] = [{ scratch: "1" }, {}, { scratch: "-6" }];
    for (const now of changes) {
      const shadowpods = [shadow("a", now)];
      assert.equal(await bytes({ shadowpods, persistentvolumeclaims }), 6);
      // Kubernetes has yet to make the claim, or waits with it until another of the name has gone.
      assert.equal(await bytes({ shadowpods, pods: [pod("a", { scratch: "6" })] }), 6);
    }
    const others = { shadowpods: [shadow("a", { other: "2" })], pods: [pod("a", { scratch: "6" })] };
    assert.equal(await bytes({ ...others, persistentvolumeclaims }), 8);
  });

  test("has of a claim what is given to it where it asks for less since", async () => {
    const given = (storage: string) => ({ ...claim("own", "2"), status: { allocatedResources: { storage } } });
    assert.equal(await bytes({ persistentvolumeclaims: [given("8")] }), 8);
    assert.equal(await bytes({ persistentvolumeclaims: [given("1")] }), 2);
    assert.equal(await bytes({ persistentvolumeclaims: [given("much")] }), 2);
  });

  test("is by the names by which writes are counted", async () => {
    const found = await stored({
      pods: [pod("a", { scratch: "6" })],
      persistentvolumeclaims: [claim("a-scratch", "7"), claim("own", "2")],
    }).claims("c");
    assert.deepEqual(Object.fromEntries(found), {
      "shadowpods.fjord.dev/shop/a-scratch": 6,
      "persistentvolumeclaims/shop/a-scratch": 1,
      "persistentvolumeclaims/shop/own": 2,
    });
  });
});
