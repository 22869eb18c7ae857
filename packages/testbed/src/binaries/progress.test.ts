import assert from "node:assert/strict";
import test from "node:test";
import { describeProgress } from "./progress.ts";

test("a reader learns what is built, how long it takes, and how far it is", () => {
  const title = "Kubernetes v1.36.3";
  assert.equal(
    describeProgress({ type: "building", title, components: ["kubelet", "kube-proxy"], minutes: 6 }),
    "building kubelet, kube-proxy (Kubernetes v1.36.3) from the Go module registry (about 6 minutes on 2 cores)",
  );
  assert.equal(
    describeProgress({ type: "still-building", title, seconds: 130.4, packages: 812, modules: 1 }),
    "building Kubernetes v1.36.3: 2 min 10 s, 1 module downloaded, 812 packages compiled",
  );
  assert.equal(
    describeProgress({ type: "still-building", title, seconds: 10, packages: 0, modules: 0 }),
    "building Kubernetes v1.36.3: 10 s",
  );
});

test("a download tells how much of how much has come, as far as that is known", () => {
  const url = "https://example.com/kubelet";
  assert.match(
    describeProgress({ type: "still-downloading", url, received: 12_300_000, total: 50_000_000 }),
    /: 12\.3 MB of 50\.0 MB$/,
  );
  assert.match(
    describeProgress({ type: "still-downloading", url, received: 12_300_000, total: undefined }),
    /: 12\.3 MB$/,
  );
});
