import assert from "node:assert/strict";
import { test } from "node:test";
import { containerConfig, type MachineOptions, podSandboxConfig } from "./pod-config.ts";
import { MountPropagation, NamespaceMode, Protocol, SecurityProfile_ProfileType } from "./proto/messages.ts";
import { exampleContainer, examplePod, plainSecurity } from "./testing/example-pod.ts";

const machine: MachineOptions = {
  unified: false,
  seccompDirectory: "/profiles",
  cgroupParent: (path) => `parent:${path}`,
};
const place = { directory: "/d", cgroup: "/g" };
const pod = examplePod(place, "web");

test("a pod is found by the labels that other tools look for, which it may not take away", () => {
  const { labels } = podSandboxConfig({ ...pod, labels: { app: "web", "io.kubernetes.pod.name": "other" } }, machine);
  assert.deepEqual(labels, {
    app: "web",
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": "uid-of-web",
  });
  const container = containerConfig(exampleContainer("main", ""), pod, machine);
  assert.equal(container.labels?.["io.kubernetes.container.name"], "main");
});

test("only ports of the host are mapped", () => {
  const ports = [
    { protocol: "TCP", containerPort: 80, hostPort: 0 },
    { protocol: "UDP", containerPort: 53, hostPort: 5353, hostIP: "10.0.0.1" },
  ] as const;
  assert.deepEqual(podSandboxConfig({ ...pod, ports }, machine).portMappings, [
    { protocol: Protocol.UDP, containerPort: 53, hostPort: 5353, hostIp: "10.0.0.1" },
  ]);
});

test("the control group is named as the runtime wants it", () => {
  assert.equal(podSandboxConfig(pod, machine).linux?.cgroupParent, "parent:/g/kubepods/pod-web");
});

test("namespaces are the pod's own unless it says otherwise", () => {
  const own = podSandboxConfig(pod, machine).linux?.securityContext?.namespaceOptions;
  assert.deepEqual(own, { network: NamespaceMode.POD, ipc: NamespaceMode.POD, pid: NamespaceMode.CONTAINER });
  const namespaces = { hostNetwork: true, hostPid: true, hostIpc: true, sharedPid: false, hostUsers: true };
  const host = podSandboxConfig({ ...pod, namespaces }, machine).linux?.securityContext?.namespaceOptions;
  assert.deepEqual(host, { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: NamespaceMode.NODE });
});

test("an ephemeral container joins the processes of the one it is to look at", () => {
  const config = exampleContainer("debug", "", { targetContainer: "abc" });
  const options = containerConfig(config, pod, machine).linux?.securityContext?.namespaceOptions;
  assert.equal(options?.pid, NamespaceMode.TARGET);
  assert.equal(options?.targetId, "abc");
});

test("profiles are found in their folder, and the default of AppArmor is the runtime's", () => {
  const security = { ...plainSecurity, seccomp: { type: "Localhost", profile: "own/audit.json" } } as const;
  const context = containerConfig(exampleContainer("main", "", { security }), pod, machine).linux?.securityContext;
  assert.deepEqual(context?.seccomp, {
    profileType: SecurityProfile_ProfileType.Localhost,
    localhostRef: "/profiles/own/audit.json",
  });
  assert.equal(context?.apparmor, undefined);
});

test("the machine is hidden from a container, unless it may see it", () => {
  const context = (changes: Partial<typeof plainSecurity>) =>
    containerConfig(exampleContainer("main", "", { security: { ...plainSecurity, ...changes } }), pod, machine).linux
      ?.securityContext;
  assert.ok(context({})?.maskedPaths?.includes("/proc/kcore"));
  assert.ok(context({})?.readonlyPaths?.includes("/proc/sys"));
  assert.deepEqual(context({ unmaskedProc: true })?.maskedPaths, []);
  assert.deepEqual(context({ privileged: true })?.readonlyPaths, []);
});

test("mounts say what is mounted, and how", () => {
  const mounts = [
    { hostPath: "/a", containerPath: "/b", readOnly: true, propagation: "hostToContainer" },
    { hostPath: "", containerPath: "/c", readOnly: true, image: "files:1" },
  ] as const;
  const [first, second] = containerConfig(exampleContainer("main", "", { mounts }), pod, machine).mounts ?? [];
  assert.equal(first?.propagation, MountPropagation.PROPAGATION_HOST_TO_CONTAINER);
  assert.equal(first?.hostPath, "/a");
  assert.equal(second?.image?.image, "files:1");
  assert.equal(second?.hostPath, undefined);
});

test("an image is asked for by the id that was found, where one was", () => {
  assert.equal(
    containerConfig(exampleContainer("main", "", { imageId: "sha256:1" }), pod, machine).image?.image,
    "sha256:1",
  );
});
