import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultPullPolicy, parseImage } from "./image-reference.ts";

const digest = `sha256:${"0".repeat(64)}`;

for (const [image, expected] of [
  ["busybox", { registry: "docker.io", repository: "library/busybox" }],
  ["user/app:1", { registry: "docker.io", repository: "user/app", tag: "1" }],
  ["localhost/app", { registry: "localhost", repository: "app" }],
  ["registry.k8s.io/pause:3.10", { registry: "registry.k8s.io", repository: "pause", tag: "3.10" }],
  ["host:5000/a/b:t", { registry: "host:5000", repository: "a/b", tag: "t" }],
  ["[::1]:5000/a", { registry: "[::1]:5000", repository: "a" }],
  [`a@${digest}`, { registry: "docker.io", repository: "library/a", digest }],
  [`a:1@${digest}`, { registry: "docker.io", repository: "library/a", tag: "1", digest }],
] as const) {
  test(`${image} is read`, () => assert.deepEqual(parseImage(image), expected));
}

for (const image of ["", "UPPER", "a b", "a:", "a@sha256:12", "a//b", "-a", "a:tag:tag", "http://host/a"]) {
  test(`"${image}" is no image`, () => assert.equal(parseImage(image), undefined));
}

test("moving tags are pulled each time, others once", () => {
  assert.equal(defaultPullPolicy("a"), "Always");
  assert.equal(defaultPullPolicy("a:latest"), "Always");
  assert.equal(defaultPullPolicy("a:1"), "IfNotPresent");
  assert.equal(defaultPullPolicy(`a@${digest}`), "IfNotPresent");
});
