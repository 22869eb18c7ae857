import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endText, podText } from "./end-text.ts";

describe("an end of a path as it is typed", () => {
  it("is a pod, a Service or an address, of another site too", () => {
    assert.deepEqual(endText("web-1"), { kind: "Pod", name: "web-1" });
    assert.deepEqual(endText("po/web-1"), { kind: "Pod", name: "web-1" });
    assert.deepEqual(endText("svc/shop/web"), { kind: "Service", name: "web", namespace: "shop" });
    assert.deepEqual(endText("240.0.3.9"), { kind: "Address", address: "240.0.3.9" });
    assert.deepEqual(endText("fd42::9@wave"), { kind: "Address", address: "fd42::9", site: "wave" });
  });

  for (const text of [
    "",
    "deployment/web",
    "constructor/web",
    "pod/",
    "a/b/c/d",
    "web@wave",
    "10.42.0.7@",
    "10.0.0.0/8",
  ])
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => endText(text), { code: "CLI_UNCLEAR_END" });
    });
});

describe("a pod as it is typed into an option", () => {
  it("is a name, with its namespace or without", () => {
    const web = { kind: "Pod", name: "web-1" };
    for (const text of ["web-1", "pod/web-1", "po/web-1"]) assert.deepEqual(podText("--pod", text), web);
    for (const text of ["shop/web-1", "pod/shop/web-1"])
      assert.deepEqual(podText("--pod", text), { ...web, namespace: "shop" });
  });

  for (const text of [
    "",
    "shop/",
    "/web",
    "pod/",
    "service/web",
    "svc/shop/web",
    "a/b/c",
    "pod/a/b/c",
    "10.42.0.7",
    "web@wave",
  ])
    it(`refuses ${JSON.stringify(text)}, by the option's name`, () => {
      assert.throws(() => podText("--pod", text), /--pod cannot be .*NAMESPACE\/NAME/);
    });
});
