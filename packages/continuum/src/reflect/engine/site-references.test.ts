import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import { SiteReferences } from "./site-references.ts";

/** Pods as the test says. */
class Pods {
  readonly all = new Map<string, OffloadedPod>();
  #tell: (namespace: string, name: string) => void = () => {};

  get offloaded(): OffloadedPods {
    return {
      get: (_namespace: string, name: string) => this.all.get(name),
      inNamespace: () => [...this.all.values()],
      onNode: () => [],
      onChange: (listener: (namespace: string, name: string) => void) => {
        this.#tell = listener;
        return () => {};
      },
    };
  }

  put(name: string, uid: string, site: string, ...configMaps: string[]): void {
    const volumes = configMaps.map((each) => ({ name: each, configMap: { name: each } }));
    const pod = { metadata: { name, namespace: "shop", uid }, spec: { containers: [], volumes } } as unknown as Pod;
    this.all.set(name, { pod, node: { site } } as OffloadedPod);
    this.#tell("shop", name);
  }

  remove(name: string): void {
    this.all.delete(name);
    this.#tell("shop", name);
  }
}

describe("what pods at a site need", () => {
  let pods: Pods;
  let references: SiteReferences;
  let told: string[];
  const needs = (name: string, site = "north") => references.has(site, "shop", "configmaps", name);

  beforeEach(() => {
    pods = new Pods();
    references = new SiteReferences(pods.offloaded);
    told = [];
    references.start();
    references.onChange((site, _namespace, resource, name) => told.push(`${site} ${resource} ${name}`.trim()));
  });

  it("is needed from the first pod to the last, and told of at both", () => {
    pods.put("a", "1", "north", "settings");
    pods.put("b", "2", "north", "settings");
    assert.deepEqual(told, ["north pods", "north configmaps settings"]);
    assert.ok(needs("settings") && !needs("settings", "south"));
    pods.remove("a");
    assert.ok(needs("settings"));
    pods.remove("b");
    assert.ok(!needs("settings") && !references.hasPods("north", "shop"));
    assert.equal(told.length, 4);
  });

  it("is not told of again when a pod only changes", () => {
    pods.put("a", "1", "north", "settings");
    const before = told.length;
    for (let turn = 0; turn < 5; turn++) pods.put("a", "1", "north", "settings");
    assert.equal(told.length, before);
  });

  it("goes where a pod of the same name is made again", () => {
    pods.put("a", "1", "north", "settings");
    pods.put("a", "2", "south", "settings", "more");
    assert.ok(!needs("settings") && needs("settings", "south") && needs("more", "south"));
  });

  it("is known of pods that came before anybody listened", () => {
    const early = new Pods();
    early.put("a", "1", "north", "settings", "kube-root-ca.crt");
    const late = new SiteReferences(early.offloaded);
    late.lookAt([...early.all.values()]);
    assert.ok(late.has("north", "shop", "configmaps", "settings"));
    assert.ok(!late.has("north", "shop", "configmaps", "kube-root-ca.crt"));
  });
});
