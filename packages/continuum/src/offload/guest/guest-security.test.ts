import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuestPrivilege } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { guestViolations } from "./guest-security.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Context = NonNullable<PodSpec["containers"][number]["securityContext"]>;

const main = { name: "main", image: "busybox:1" };
const pod = (more: Partial<PodSpec>): PodSpec => ({ containers: [main], ...more });
const as = (securityContext: Context): PodSpec => pod({ containers: [{ ...main, securityContext }] });

const refused: [string, PodSpec, GuestPrivilege | undefined][] = [
  ["privileged", as({ privileged: true }), "privileged"],
  [
    "a privileged init container",
    pod({ initContainers: [{ ...main, securityContext: { privileged: true } }] }),
    "privileged",
  ],
  [
    "a privileged ephemeral container",
    pod({ ephemeralContainers: [{ ...main, securityContext: { privileged: true } }] }),
    "privileged",
  ],
  ["the node's network", pod({ hostNetwork: true }), "hostNetwork"],
  ["the node's processes", pod({ hostPID: true }), "hostPID"],
  ["the node's IPC", pod({ hostIPC: true }), "hostIPC"],
  ["a directory of the node", pod({ volumes: [{ name: "v", hostPath: { path: "/" } }] }), "hostPath"],
  ["an NFS volume", pod({ volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] }), "hostPath"],
  ["a port of the node", pod({ containers: [{ ...main, ports: [{ containerPort: 1, hostPort: 80 }] }] }), "hostPort"],
  ["all capabilities", as({ capabilities: { add: ["ALL"] } }), "capabilities"],
  ["to administer", as({ capabilities: { add: ["SYS_ADMIN"] } }), "capabilities"],
  ["to administer, said otherwise", as({ capabilities: { add: ["CAP_SYS_ADMIN"] } }), "capabilities"],
  ["an unmasked /proc", as({ procMount: "Unmasked" }), "procMount"],
  ["an unsafe sysctl", pod({ securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } }), "sysctls"],
  ["a label of its own", as({ seLinuxOptions: { type: "spc_t" } }), "seLinux"],
  ["no seccomp", as({ seccompProfile: { type: "Unconfined" } }), "privileged"],
  ["no seccomp for the pod", pod({ securityContext: { seccompProfile: { type: "Unconfined" } } }), "privileged"],
  ["no AppArmor", as({ appArmorProfile: { type: "Unconfined" } }), "privileged"],
  ["a process of the host", as({ windowsOptions: { hostProcess: true } }), "privileged"],
  ["a priority class", pod({ priorityClassName: "system-node-critical" }), "priority"],
  ["a priority", pod({ priority: 5 }), "priority"],
  [
    "to be on nodes that are to be empty",
    pod({ tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] }),
    "tolerations",
  ],
  ["to be on nodes that are other sites", pod({ tolerations: [{ key: "fjord.dev/virtual-node" }] }), "tolerations"],
  ["to go everywhere", pod({ tolerations: [{ operator: "Exists" }] }), "tolerations"],
  [
    "the control plane's nodes",
    pod({ tolerations: [{ key: "node-role.kubernetes.io/control-plane" }] }),
    "tolerations",
  ],
  ["a node", pod({ nodeName: "n" }), "nodeName"],
  ["a device", pod({ resourceClaims: [{ name: "gpu" }] }), "resourceClaims"],
  ...[{ volumeName: "the-owners" }, { selector: {} }, { storageClassName: "" }].map(
    (choice): (typeof refused)[number] => [
      `a volume that is there by ${Object.keys(choice)}`,
      pod({ volumes: [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: choice as never } } }] }),
      undefined,
    ],
  ),
  [
    "a token of the provider's API",
    pod({ volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] }),
    undefined,
  ],
  ...(["podAffinity", "podAntiAffinity"] as const).flatMap((kind): (typeof refused)[number][] => {
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector: {} };
    const required = (more: object) =>
      pod({ affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, ...more }] } } });
    const podAffinityTerm = { ...term, namespaces: ["kube-system"] };
    const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }] };
    return [
      [`${kind} with pods of all namespaces`, required({ namespaceSelector: {} }), undefined],
      [`${kind} with pods of another namespace`, required({ namespaces: ["kube-system"] }), undefined],
      [`a wish for ${kind} with those`, pod({ affinity: { [kind]: preferred } }), undefined],
    ];
  }),
  [
    "a bundle of the provider's authorities",
    pod({ volumes: [{ name: "v", projected: { sources: [{ clusterTrustBundle: { path: "t" } }] } }] }),
    undefined,
  ],
];

for (const [what, spec, privilege] of refused) {
  test(`a guest is not given ${what}${privilege ? ", unless the owner says so" : ", whatever the owner says"}`, () => {
    assert.equal(guestViolations(spec).length, 1);
    const all: GuestPrivilege[] = privilege === undefined ? ["privileged", "hostPath", "capabilities"] : [privilege];
    assert.equal(guestViolations(spec, all).length, privilege === undefined ? 1 : 0);
  });
}

test("a guest is not without AppArmor by an annotation either, unless the owner says so", () => {
  const annotated = (profile: string, allowed: GuestPrivilege[] = []) =>
    guestViolations(pod({}), allowed, { "container.apparmor.security.beta.kubernetes.io/main": profile });
  assert.deepEqual(annotated("unconfined"), ["container main is without AppArmor"]);
  assert.deepEqual(annotated("unconfined", ["privileged"]), []);
  for (const profile of ["runtime/default", "localhost/mine"]) assert.deepEqual(annotated(profile), []);
});

test("a guest's probes and hooks have its node ask neither itself nor whoever a name stands for", () => {
  const asking = (host: string): PodSpec[] => {
    const httpGet = { host, port: 10250 };
    const handlers = [
      { livenessProbe: { httpGet } },
      { readinessProbe: { tcpSocket: httpGet } },
      { startupProbe: { httpGet } },
      { lifecycle: { postStart: { httpGet } } },
      { lifecycle: { preStop: { tcpSocket: httpGet } } },
    ];
    return handlers.map((handler) => pod({ containers: [{ ...main, ...handler }] }));
  };
  for (const host of ["127.0.0.1", "localhost", "::1", "169.254.169.254", "metadata.example", "0.0.0.0"]) {
    for (const spec of asking(host)) {
      assert.equal(guestViolations(spec).length, 1, JSON.stringify(spec));
      assert.deepEqual(guestViolations(spec, ["hostNetwork"]), []);
    }
  }
  for (const host of ["", "10.1.0.5", "fd00::5"])
    for (const spec of asking(host)) assert.deepEqual(guestViolations(spec), [], JSON.stringify(spec));
});

test("a guest is given what any pod may have", () => {
  const spec = pod({
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", labelSelector: {} }] },
    },
    tolerations: [{ key: "example.com/gpu" }, { key: "node.kubernetes.io/not-ready", effect: "NoExecute" }],
    volumes: [
      { name: "a", emptyDir: {} },
      { name: "b", configMap: { name: "x" } },
      { name: "c", secret: { secretName: "x" } },
      { name: "d", persistentVolumeClaim: { claimName: "x" } },
      { name: "e", projected: { sources: [{ secret: { name: "x" } }, { downwardAPI: {} }] } },
    ],
    securityContext: {
      runAsUser: 0,
      fsGroup: 1,
      seccompProfile: { type: "RuntimeDefault" },
      sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }],
    },
    containers: [
      {
        ...main,
        ports: [{ containerPort: 80 }],
        securityContext: { capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] }, procMount: "Default" },
      },
    ],
  });
  assert.deepEqual(guestViolations(spec), []);
});
