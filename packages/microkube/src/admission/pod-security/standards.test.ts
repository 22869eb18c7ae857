import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import { podWarnings } from "./pod-security.ts";
import { type Level, levelText, podSecurityPolicy } from "./pod-security-policy.ts";
import { describeViolations, violationsOf } from "./standards.ts";
import type { PodSpec } from "./violation.ts";

const good = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
};
const spec = (more: object = {}, securityContext: object = good, container: object = {}) =>
  ({ containers: [{ name: "c", image: "i", securityContext, ...container }], ...more }) as PodSpec;
const told = (level: Level, of: PodSpec, minor?: number, annotations: Record<string, string> = {}) =>
  describeViolations(violationsOf({ level, minor }, { annotations }, of));

describe("the standards of pod security", () => {
  it("let a careful pod do what it wants, and allow all to the privileged", () => {
    assert.equal(told("restricted", spec()), "");
    assert.equal(told("privileged", spec({ hostNetwork: true }, { privileged: true })), "");
  });

  const cases: [what: string, pod: PodSpec, baseline: string, restricted?: string][] = [
    [
      "nothing said",
      spec({}, {}),
      "",
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      "privilege",
      spec({}, { ...good, privileged: true }),
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    ["host namespaces", spec({ hostPID: true, hostNetwork: true }), "host namespaces (hostNetwork=true, hostPID=true)"],
    [
      "host paths",
      spec({ volumes: [{ name: "h", hostPath: { path: "/" } }] }),
      'hostPath volumes (volume "h")',
      'restricted volume types (volume "h" uses restricted volume type "hostPath")',
    ],
    [
      "other volumes",
      spec({
        volumes: [
          { name: "a", nfs: {} },
          { name: "b", iscsi: {} },
          { name: "c", emptyDir: {} },
        ],
      }),
      "",
      'restricted volume types (volumes "a", "b" use restricted volume types "iscsi", "nfs")',
    ],
    [
      "host ports",
      spec({}, good, { ports: [{ hostPort: 80 }, { hostPort: 81 }] }),
      'hostPort (container "c" uses hostPorts 80, 81)',
    ],
    [
      "capabilities",
      spec({}, { ...good, capabilities: { add: ["CHOWN", "SYS_TIME"], drop: ["ALL"] } }),
      'non-default capabilities (container "c" must not include "SYS_TIME" in securityContext.capabilities.add)',
      'unrestricted capabilities (container "c" must not include "CHOWN", "SYS_TIME" in securityContext.capabilities.add)',
    ],
    [
      "/proc",
      spec({}, { ...good, procMount: "Unmasked" }),
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      "SELinux",
      spec({}, { ...good, seLinuxOptions: { type: "spc_t", user: "u", role: "r" } }),
      'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [
      "seccomp",
      spec({ securityContext: { seccompProfile: { type: "Unconfined" } } }),
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      "sysctls",
      spec({ securityContext: { sysctls: [{ name: "a" }, { name: "net.ipv4.tcp_rmem" }] } }),
      "forbidden sysctls (a)",
    ],
    ["root", spec({}, { ...good, runAsUser: 0 }), "", 'runAsUser=0 (container "c" must not set runAsUser=0)'],
    [
      "root by leave",
      spec({ securityContext: { runAsNonRoot: false } }),
      "",
      "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
    ],
    [
      "AppArmor",
      spec({ securityContext: { appArmorProfile: { type: "Unconfined" } } }),
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    ],
    [
      "probes of others",
      spec({}, good, {
        livenessProbe: { httpGet: { host: "h" } },
        lifecycle: { preStop: { tcpSocket: { host: "g" } } },
      }),
      'probe or lifecycle host (container "c" uses probe or lifecycle hosts "g", "h")',
    ],
    [
      "Windows' host processes",
      spec({ securityContext: { windowsOptions: { hostProcess: true } } }),
      "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
    ],
  ];
  for (const [what, pod, baseline, restricted = baseline] of cases) {
    it(`tell of ${what}`, () => {
      assert.equal(told("baseline", pod), baseline);
      assert.equal(told("restricted", pod), restricted);
    });
  }

  it("were others in earlier versions", () => {
    const tcp = spec({ securityContext: { sysctls: [{ name: "net.ipv4.tcp_rmem" }] } });
    assert.equal(told("baseline", tcp, 31), "forbidden sysctls (net.ipv4.tcp_rmem)");
    assert.equal(told("baseline", tcp, 32), "");
    assert.equal(
      told("restricted", spec({}, {}), 7),
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    );
    const probe = spec({}, good, { livenessProbe: { tcpSocket: { host: "h" } } });
    assert.equal(told("baseline", probe, 33), "");
    const key = "seccomp.security.alpha.kubernetes.io/pod";
    assert.equal(
      told("baseline", spec(), 18, { [key]: "unconfined" }),
      `seccompProfile (forbidden annotation ${key}="unconfined")`,
    );
    const windows = spec({ os: { name: "windows" }, securityContext: { runAsNonRoot: true } }, {});
    assert.equal(told("restricted", windows), "");
    assert.match(told("restricted", windows, 24), /allowPrivilegeEscalation/);
  });

  it("do not mind root in a user namespace of its own", () => {
    const pod = spec({ hostUsers: false }, { ...good, runAsUser: 0, runAsNonRoot: false });
    assert.equal(told("restricted", pod), "");
    assert.match(told("restricted", pod, 34), /runAsUser=0/);
  });
});

describe("the labels of namespaces", () => {
  const label = "pod-security.kubernetes.io";
  const levels = (labels: Record<string, string>) => {
    const { policy, errors } = podSecurityPolicy(
      Object.fromEntries(Object.entries(labels).map(([name, value]) => [`${label}/${name}`, value])),
    );
    return {
      ...Object.fromEntries(Object.entries(policy).map(([mode, one]) => [mode, levelText(one)])),
      errors: errors.length,
    };
  };
  const all = "privileged:latest";

  it("say what is enforced, audited and warned of", () => {
    assert.deepEqual(levels({}), { enforce: all, audit: all, warn: all, errors: 0 });
    assert.deepEqual(levels({ enforce: "baseline", "enforce-version": "v1.30" }), {
      enforce: "baseline:v1.30",
      audit: all,
      warn: "baseline:v1.30",
      errors: 0,
    });
    assert.deepEqual(levels({ enforce: "restricted", warn: "baseline", audit: "restricted" }), {
      enforce: "restricted:latest",
      audit: "restricted:latest",
      warn: "baseline:latest",
      errors: 0,
    });
  });

  it("that cannot be read enforce the most, and warn of nothing", () => {
    assert.deepEqual(levels({ enforce: "x", warn: "y", "audit-version": "z" }), {
      enforce: "restricted:latest",
      audit: all,
      warn: all,
      errors: 3,
    });
  });
});

it("pods that are there and would not be let in any more are told, alike ones together", () => {
  const pod = (name: string, of: PodSpec, owner?: string) =>
    ({
      metadata: { name, ...(owner && { ownerReferences: [{ uid: owner, controller: true }] }) },
      spec: of,
    }) as unknown as Pod;
  const bad = spec({}, { ...good, privileged: true });
  const pods = [
    pod("b", bad, "o"),
    pod("a", bad, "o"),
    pod("c", bad),
    pod("d", spec({ hostPID: true })),
    pod("e", spec()),
  ];
  assert.deepEqual(podWarnings(pods, "shop", { level: "baseline", minor: undefined }), [
    'existing pods in namespace "shop" violate the new PodSecurity enforce level "baseline:latest"',
    "a (and 2 other pods): privileged",
    "d: host namespaces",
  ]);
});
