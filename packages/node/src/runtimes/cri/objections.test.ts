import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { capabilitiesUpTo } from "../../machine/capabilities.ts";
import { configurationObjection, containerObjections, podObjections, type RuntimeAbilities } from "./objections.ts";
import { plainSecurity } from "./testing/example-pod.ts";

const old: RuntimeAbilities = {
  version: { name: "containerd", version: "1.6.20~ds1" },
  recursiveReadOnly: false,
  strictSupplementalGroups: false,
  appArmor: false,
  seLinux: false,
  capabilities: capabilitiesUpTo(37),
};
const recent: RuntimeAbilities = {
  version: { name: "containerd", version: "v2.3.0" },
  recursiveReadOnly: true,
  strictSupplementalGroups: true,
  appArmor: true,
  seLinux: true,
  capabilities: capabilitiesUpTo(40),
};

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

const pod = (spec: Partial<Spec>, container: Partial<Container> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "main", image: "busybox", ...container }], ...spec },
});

const refused: [what: string, pod: Pod, words: RegExp][] = [
  ["image volumes", pod({ volumes: [{ name: "files", image: { reference: "a" } }] }), /"files" is an image.*1\.6\.20/],
  [
    "capabilities of later kernels",
    pod({}, { securityContext: { capabilities: { add: ["BPF"] } } }),
    /"main" asks for BPF/,
  ],
  ["stop signals", pod({}, { lifecycle: { stopSignal: "SIGUSR1" } }), /"main" is to be stopped by SIGUSR1/],
  [
    "mounts that are read-only to the bottom",
    pod({}, { volumeMounts: [{ name: "a", mountPath: "/a", readOnly: true, recursiveReadOnly: "Enabled" }] }),
    /\/a read-only/,
  ],
  ["strict groups", pod({ securityContext: { supplementalGroupsPolicy: "Strict" } }), /supplementalGroupsPolicy/],
  ["AppArmor for the pod", pod({ securityContext: { appArmorProfile: { type: "RuntimeDefault" } } }), /no AppArmor/],
  [
    "AppArmor for a container",
    pod({}, { securityContext: { appArmorProfile: { type: "Localhost", localhostProfile: "x" } } }),
    /"main" asks for an AppArmor/,
  ],
  ["SELinux", pod({ securityContext: { seLinuxOptions: { type: "spc_t" } } }), /no SELinux/],
];

for (const [what, given, words] of refused) {
  test(`${what}: refused where they would be ignored, taken where they are heeded`, () => {
    const objections = podObjections(given, old);
    assert.equal(objections.length, 1, objections.join("; "));
    assert.match(objections[0] ?? "", words);
    assert.deepEqual(podObjections(given, recent), []);
  });
}

test("a level of SELinux alone is taken anywhere, as every pod of some clusters has one", () => {
  assert.deepEqual(podObjections(pod({ securityContext: { seLinuxOptions: { level: "s0:c0,c1" } } }), old), []);
});

test("what no runtime is given by this node is refused on any", () => {
  const users = pod({ hostUsers: false });
  assert.match(podObjections(users, recent).join(), /hostUsers: false\), which this node gives to no pod$/);
  assert.match(podObjections(users, old).join(), /hostUsers: false\), which containerd 1\.6\.20\S* does not support$/);
  assert.match(podObjections(pod({ resourceClaims: [{ name: "gpu" }] }), recent).join(), /resourceClaims/);
});

test("options for Windows are refused where a pod does not say which system it is for", () => {
  const windowsOptions = { runAsUserName: "ContainerUser" };
  for (const abilities of [old, recent]) {
    assert.deepEqual(podObjections(pod({ securityContext: { windowsOptions } }), abilities), [
      "the pod has windowsOptions, and this machine runs Linux",
    ]);
    assert.deepEqual(podObjections(pod({}, { securityContext: { windowsOptions } }), abilities), [
      'container "main" has windowsOptions, and this machine runs Linux',
    ]);
    assert.deepEqual(podObjections(pod({ securityContext: { windowsOptions: {} } }), abilities), []);
  }
});

test("an ephemeral container is asked about by itself, and is no reason to refuse its pod", () => {
  const shell = { name: "shell", securityContext: { appArmorProfile: { type: "RuntimeDefault" } } } as const;
  assert.deepEqual(podObjections(pod({ ephemeralContainers: [shell] }), old), []);
  assert.match(containerObjections(shell, old).join(), /"shell" asks for an AppArmor profile/);
  assert.deepEqual(containerObjections(shell, recent), []);
});

test("an ordinary pod is taken, also by a runtime that nobody knows", () => {
  assert.deepEqual(podObjections(pod({ hostUsers: true, securityContext: { runAsUser: 1 } }), old), []);
  const { version: _, ...unknown } = old;
  assert.deepEqual(podObjections(pod({ volumes: [{ name: "a", image: { reference: "a" } }] }), unknown), []);
  assert.deepEqual(
    podObjections(pod({ volumes: [{ name: "a", image: { reference: "a" } }] }), {
      ...old,
      version: { name: "other", version: "0.1" },
    }),
    [],
  );
});

test("what is not known yet is no reason to refuse a pod, but is looked at again before it starts", () => {
  const strict = pod({ securityContext: { supplementalGroupsPolicy: "Strict" } });
  assert.deepEqual(podObjections(strict, { appArmor: false, seLinux: false }), []);
  const security = { ...plainSecurity, supplementalGroupsPolicy: "Strict" } as const;
  assert.match(configurationObjection(old, { security }) ?? "", /supplementalGroupsPolicy/);
  assert.equal(configurationObjection(recent, { security }), undefined);
  const mounts = [{ hostPath: "/a", containerPath: "/b", readOnly: true, recursiveReadOnly: true }];
  assert.match(configurationObjection(old, { security: plainSecurity, mounts }) ?? "", /\/b read-only/);
  assert.equal(configurationObjection(old, { security: plainSecurity, mounts: [] }), undefined);
});

test("what is asked for only if possible is not refused", () => {
  const mount = { name: "a", mountPath: "/a", readOnly: true, recursiveReadOnly: "IfPossible" };
  assert.deepEqual(podObjections(pod({}, { volumeMounts: [mount] }), old), []);
  const security = { appArmorProfile: { type: "Unconfined" as const } };
  assert.deepEqual(podObjections(pod({ securityContext: security }), old), []);
});

test("a capability that no kernel has is refused, whoever asks for it; others are the runtime's to give", () => {
  const asking = (...add: string[]) => ({
    name: "debug",
    image: "busybox",
    securityContext: { capabilities: { add } },
  });
  assert.deepEqual(containerObjections(asking("ALL", "SYS_TIME", "CAP_BPF", "net_admin"), recent), []);
  assert.deepEqual(containerObjections(asking("SYS_TIME", "NOT_THERE", "CAP_NONE"), recent), [
    'container "debug" asks for NOT_THERE, CAP_NONE, and this machine has no such capability',
  ]);
});
