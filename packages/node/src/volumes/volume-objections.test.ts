import assert from "node:assert/strict";
import { test } from "node:test";
import { podWithVolumes, testPod } from "./testing/pods.ts";
import { deviceObjections, volumeObjections } from "./volume-objections.ts";

test("what this node can serve is not objected to", () => {
  const pod = podWithVolumes([
    { name: "a", emptyDir: {} },
    { name: "b", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: "c", hostPath: { path: "/var/log" } },
    { name: "d", configMap: { name: "x" } },
    { name: "e", secret: { secretName: "x" } },
    { name: "f", downwardAPI: { items: [] } },
    { name: "g", projected: { sources: [{ serviceAccountToken: { path: "t" } }, { configMap: { name: "x" } }] } },
    { name: "h", persistentVolumeClaim: { claimName: "x" } },
    { name: "i", ephemeral: {} },
    { name: "j", image: { reference: "busybox" } },
    { name: "k" },
  ]);
  assert.deepEqual(volumeObjections(pod), []);
  assert.deepEqual(volumeObjections(testPod()), []);
});

test("what it cannot serve is named with its reason", () => {
  const pod = podWithVolumes([
    { name: "a", nfs: { server: "x", path: "/" } },
    { name: "b", csi: { driver: "x" } },
    { name: "c", emptyDir: { medium: "HugePages-2Mi" } },
    { name: "d", projected: { sources: [{ clusterTrustBundle: { path: "x", name: "y" } }] } },
    { name: "e", hostPath: { path: "relative" } },
    { name: "f", hostPath: { path: "/a/../../etc" } },
    { name: "../g", emptyDir: {} },
  ]);
  assert.deepEqual(volumeObjections(pod), [
    'volume "a" is of kind nfs, which this node cannot serve',
    'volume "b" is of kind csi, which this node cannot serve',
    'volume "c" is to be made of huge pages, which this node does not give',
    'volume "d" projects a clusterTrustBundle, which this node cannot serve',
    'volume "e" has the path "relative", which must be absolute and without \'..\'',
    'volume "f" has the path "/a/../../etc", which must be absolute and without \'..\'',
    'the volume name "../g" cannot be used',
  ]);
  const devices = testPod({ container: { volumeDevices: [{ name: "a", devicePath: "/dev/x" }] } });
  assert.deepEqual(volumeObjections(devices), [
    'container "main" asks for raw block devices, which this node cannot give',
  ]);
  const [asking] = devices.spec?.containers ?? [];
  assert.ok(asking);
  const joined = { ...testPod(), spec: { ...testPod().spec, containers: [], ephemeralContainers: [asking] } };
  assert.deepEqual(volumeObjections(joined), [], "what joins later is asked about by itself");
  assert.equal(deviceObjections(asking).length, 1);
});
