import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../annotations.ts";
import { containersOf, type PodContainer, type PodSpec } from "../pod-containers.ts";
import type { PodSettings } from "../pod-settings.ts";
import { newPod } from "../testing/pod-bench.ts";
import { type ContainerFacts, forgeContainer } from "./container-forge.ts";
import { hostnameOf } from "./hostname.ts";
import { forgeSandbox } from "./sandbox-forge.ts";
import { securityOf } from "./security.ts";

const settings: PodSettings = {
  nodeName: "n",
  hostIPs: [],
  stateDirectory: "/state",
  clusterDns: [],
  clusterDomain: "cluster.local",
  cgroupRoot: "",
  memoryCapacity: 2 ** 30,
  allocatable: {},
};

const facts: ContainerFacts = {
  attempt: 2,
  imageId: "sha256:1",
  environment: [{ name: "WHO", value: "world" }],
  mounts: [],
  messageFile: "/state/pods/uid-p/containers/web/2.message",
  restartDelay: 10_000,
  memoryCapacity: 2 ** 30,
};

function forge(
  container: Partial<PodContainer["spec"]>,
  spec: Partial<PodSpec> = {},
  more: Partial<ContainerFacts> = {},
) {
  const pod = newPod("p", { ...spec, containers: [{ name: "web", image: "web:1", ...container }] });
  const web = containersOf(pod).find(({ name }) => name === "web");
  assert.ok(web);
  return forgeContainer(pod, web, { ...facts, ...more });
}

test("hostnames are the pod's name, its own, or the whole domain name", () => {
  assert.equal(hostnameOf(newPod("p"), "cluster.local"), "p");
  assert.equal(hostnameOf(newPod("p", { hostname: "h" }), "cluster.local"), "h");
  assert.equal(hostnameOf(newPod(`${"x".repeat(62)}-y`), "cluster.local"), "x".repeat(62));
  assert.equal(hostnameOf(newPod("p", { hostNetwork: true }), "cluster.local"), "");
  assert.equal(hostnameOf(newPod("p", { hostnameOverride: "any.name" }), "cluster.local"), "any.name");
  const whole = { setHostnameAsFQDN: true, subdomain: "s" };
  assert.equal(hostnameOf(newPod("p", whole), "cluster.local"), "p.s.default.svc.cluster.local");
  assert.throws(
    () => hostnameOf(newPod("p".repeat(60), whole), "cluster.local"),
    /is too long \(64 characters is the max/,
  );
});

test("commands and arguments have their variables replaced, and nothing else", () => {
  const { command, args } = forge({ command: ["echo", "$(WHO)"], args: ["$$(WHO)", "$(NOBODY)"] });
  assert.deepEqual(command, ["echo", "world"]);
  assert.deepEqual(args, ["$(WHO)", "$(NOBODY)"]);
});

test("last words have a file at the container's path, unless a volume is there", () => {
  const own = forge({ terminationMessagePath: "/words" });
  assert.deepEqual(own.mounts, [{ hostPath: facts.messageFile, containerPath: "/words", readOnly: false }]);
  const volume = { hostPath: "/v", containerPath: "/dev/termination-log", readOnly: true };
  assert.deepEqual(forge({}, {}, { mounts: [volume] }).mounts, [volume]);
});

test("what has to be known after a restart of the node is written on the container", () => {
  const { annotations: noted } = forge({ resources: { requests: { cpu: "1" } } }, { terminationGracePeriodSeconds: 7 });
  assert.equal(noted[annotations.restartDelay], "10000");
  assert.equal(noted[annotations.image], "web:1");
  assert.equal(noted[annotations.grace], "7");
  assert.deepEqual(JSON.parse(noted[annotations.resources] ?? ""), { requests: { cpu: "1" } });
});

test("a container's security context goes before its pod's", () => {
  const pod = newPod("p", {
    securityContext: {
      runAsUser: 1,
      runAsGroup: 2,
      fsGroup: 3,
      supplementalGroups: [4],
      seccompProfile: { type: "RuntimeDefault" },
    },
  });
  const own = securityOf(pod, {
    name: "c",
    securityContext: {
      runAsUser: 9,
      allowPrivilegeEscalation: false,
      capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      seccompProfile: { type: "Localhost", localhostProfile: "my.json" },
    },
  });
  assert.equal(own.runAsUser, 9);
  assert.equal(own.runAsGroup, 2);
  assert.deepEqual(own.supplementalGroups, [4, 3]);
  assert.equal(own.noNewPrivileges, true);
  assert.deepEqual(own.seccomp, { type: "Localhost", profile: "my.json" });
  assert.deepEqual(securityOf(pod).seccomp, { type: "RuntimeDefault" });
  assert.deepEqual(securityOf(newPod("q")).seccomp, { type: "Unconfined" });
});

test("a sandbox has what the pod shares with the host, its ports and its place among control groups", () => {
  const pod = newPod("p", {
    shareProcessNamespace: true,
    securityContext: { sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] },
    containers: [
      {
        name: "web",
        ports: [{ containerPort: 80, hostPort: 8080, protocol: "TCP" }, { containerPort: 81 }],
        resources: { requests: { cpu: "100m" } },
        securityContext: { privileged: true },
      },
    ],
  });
  const config = forgeSandbox(pod, 1, "handler", settings);
  assert.deepEqual(config.ports, [{ protocol: "TCP", containerPort: 80, hostPort: 8080 }]);
  assert.equal(config.cgroupParent, "/kubepods/burstable/poduid-p");
  assert.equal(config.namespaces.sharedPid, true);
  assert.equal(config.security.privileged, true);
  assert.deepEqual(config.sysctls, { "kernel.shm_rmid_forced": "1" });
  assert.equal(config.logDirectory, "/state/logs/default_p_uid-p");
  assert.equal(config.resources?.cpuRequest, 100);
});
