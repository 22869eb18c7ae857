import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { type ObjectionFacts, objectionsTo, objectionsToContainer } from "./objections.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

const common = { bounding: 2n ** 41n - 1n, groups: [], hasTool: () => true };
const root: ObjectionFacts = { ...common, root: true, namespace: "root", uid: 0, gid: 0 };
const user: ObjectionFacts = { ...common, root: false, namespace: "user", uid: 1000, gid: 1000 };
/** Root of a container: without NET_ADMIN. */
const less: ObjectionFacts = { ...root, bounding: common.bounding & ~(1n << 12n) };
const member: ObjectionFacts = { ...user, groups: [1000, 27] };
const bare: ObjectionFacts = { ...user, namespace: "none" };

function pod(container: Partial<Container> = {}, spec: Partial<PodSpec> = {}): Pod {
  const containers = [{ name: "main", image: "label", command: ["sleep"], ...container }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers, ...spec } } as Pod;
}

const token = { name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };

const cases: { facts: ObjectionFacts; container?: Partial<Container>; spec?: Partial<PodSpec>; says?: RegExp }[] = [
  { facts: root },
  { facts: user },
  { facts: bare, container: { volumeMounts: [token] } },
  { facts: root, container: { command: [] }, says: /names no command/ },
  { facts: root, container: { args: ["x"] }, spec: { initContainers: [{ name: "i" }] }, says: /Container i names no/ },
  { facts: root, container: { ports: [{ containerPort: 80, hostPort: 80 }] }, says: /port 80 of the host/ },
  { facts: root, container: { ports: [{ containerPort: 80, hostPort: 80 }] }, spec: { hostNetwork: true } },
  { facts: root, spec: { hostUsers: false }, says: /hostUsers/ },
  { facts: root, spec: { securityContext: { sysctls: [{ name: "a", value: "b" }] } }, says: /sysctls/ },
  { facts: root, spec: { securityContext: { seLinuxOptions: { level: "s0" } } }, says: /seLinuxOptions/ },
  {
    facts: root,
    container: { securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "x" } } },
    says: /seccompProfile/,
  },
  { facts: root, container: { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } } },
  { facts: root, container: { securityContext: { runAsUser: 1000, privileged: true } } },
  { facts: user, container: { securityContext: { runAsUser: 1000, runAsNonRoot: true } } },
  { facts: user, container: { securityContext: { runAsUser: 1001 } }, says: /user 1001/ },
  { facts: user, container: { securityContext: { runAsGroup: 1 } }, says: /group 1,/ },
  { facts: user, container: { securityContext: { privileged: true } }, says: /privileged/ },
  { facts: user, container: { securityContext: { capabilities: { add: ["NET_ADMIN"] } } }, says: /NET_ADMIN/ },
  { facts: user, container: { securityContext: { capabilities: { drop: ["ALL"] } } } },
  { facts: root, container: { securityContext: { capabilities: { add: ["CAP_NET_ADMIN"] } } } },
  {
    facts: less,
    container: { securityContext: { capabilities: { add: ["NET_ADMIN", "KILL"] } } },
    says: /for NET_ADMIN,/,
  },
  { facts: less, container: { securityContext: { capabilities: { add: ["ALL"] } } } },
  { facts: root, container: { securityContext: { capabilities: { add: ["FLY"] } } }, says: /for FLY, which the node/ },
  { facts: member, spec: { securityContext: { supplementalGroupsPolicy: "Strict" } }, says: /own groups 27 away/ },
  { facts: member, spec: { securityContext: { supplementalGroupsPolicy: "Merge" } } },
  { facts: user, spec: { securityContext: { supplementalGroupsPolicy: "Strict" } } },
  { facts: user, spec: { securityContext: { fsGroup: 5 } }, says: /group 5/ },
  { facts: root, spec: { securityContext: { runAsNonRoot: true } }, says: /must not run as root/ },
  { facts: root, spec: { volumes: [{ name: "v", image: { reference: "x" } }] }, says: /Volume v is an image/ },
  {
    facts: root,
    container: { volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "Bidirectional" }] },
    says: /bidirectional/,
  },
  { facts: user, container: { volumeMounts: [{ name: "v", mountPath: "/v" }] } },
  { facts: bare, container: { volumeMounts: [{ name: "v", mountPath: "/v" }] }, says: /volume v at \/v/ },
  { facts: bare, container: { workingDir: "/srv", volumeMounts: [{ name: "v", mountPath: "/srv/v" }] } },
  { facts: bare, container: { securityContext: { readOnlyRootFilesystem: true } }, says: /read-only root/ },
  { facts: bare, spec: { hostAliases: [{ ip: "1.1.1.1", hostnames: ["a"] }] }, says: /hostAliases/ },
];

for (const { facts, container, spec, says } of cases) {
  const who = facts.root ? "root" : facts.namespace === "none" ? "a user without namespaces" : "a user";
  test(`${who}: ${JSON.stringify({ ...container, ...spec })} is ${says ? "refused" : "taken"}`, () => {
    const found = objectionsTo(pod(container, spec), facts);
    if (!says) return assert.deepEqual(found, []);
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0] ?? "", says);
  });
}

test("an ephemeral container is asked about by itself, and is no reason to refuse its pod", () => {
  const security: [NonNullable<Container["securityContext"]>, RegExp][] = [
    [{ seLinuxOptions: { level: "s0" } }, /shell has seLinuxOptions/],
    [{ seccompProfile: { type: "Localhost", localhostProfile: "x" } }, /shell has a seccompProfile/],
    [{ appArmorProfile: { type: "Localhost", localhostProfile: "x" } }, /shell has a appArmorProfile/],
    [{ runAsUser: 1001 }, /shell is to run as user 1001/],
    [{ privileged: true }, /shell is privileged/],
    [{ capabilities: { add: ["SYS_PTRACE"] } }, /shell asks for SYS_PTRACE/],
  ];
  for (const [securityContext, says] of security) {
    const shell = { name: "shell", image: "label", command: ["sh"], securityContext };
    const joined = pod({}, { ephemeralContainers: [shell] });
    assert.deepEqual(objectionsTo(joined, user), []);
    assert.match(objectionsToContainer(joined, shell, user).join(), says);
  }
  assert.deepEqual(objectionsToContainer(pod(), { name: "shell", command: ["sh"] }, user), []);
});
