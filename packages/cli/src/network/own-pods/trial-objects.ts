import { affinityFor } from "@fjord/agent/move";
import { newObject, OFFLOADING_NAME, Offloading, SITE_LABEL } from "@fjord/api";
import type { Lease, Namespace, NetworkPolicy, Pod, Service } from "@fjord/kube";
import { CLOSED_PORT, serverScript, TEST_PORT } from "./server-script.ts";
import type { TestPlace } from "./trial-places.ts";

/** Pods of it ask each other. */
export const TEST_NAMESPACE = "network-test-fjord";
/** Pods of it share nothing with those: they ask, and are to get no answer. */
export const OUTSIDE_NAMESPACE = "network-test-fjord-outside";
export const TEST_NAMESPACES = [TEST_NAMESPACE, OUTSIDE_NAMESPACE] as const;
/** Says in the first of them that a test goes on. */
export const TEST_LEASE = "network-test-fjord";
/** On all that a test makes: nothing without it is ever removed. */
export const TEST_LABEL = "fjord.dev/network-test";

const labels = { [TEST_LABEL]: "true", "app.kubernetes.io/managed-by": "fjord" };

export function testNamespace(name: string): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

/** To the sites that are tested, and no others. */
export function testOffloading(namespace: string, places: readonly TestPlace[]): Offloading {
  const values = places.flatMap(({ place, id }) => (place === "home" ? [] : [id]));
  return newObject(Offloading, {
    metadata: { name: OFFLOADING_NAME, namespace, labels },
    spec: { pods: "Both", sites: { matchExpressions: [{ key: SITE_LABEL, operator: "In", values }] } },
  });
}

/** One for each place, so that its name is answered from there and from nowhere else. */
export function testService({ name }: TestPlace): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: TEST_NAMESPACE, labels },
    spec: {
      selector: { [TEST_LABEL]: "true", app: name },
      ports: [{ port: TEST_PORT }],
      ipFamilyPolicy: "PreferDualStack",
    },
  };
}

/**
 * Lets pods of the test in at the one port, and outsiders too, by what chooses them in words: those of a link must be kept out by the link. Nobody
 * is let in at the other port.
 */
export function testPolicy(): NetworkPolicy {
  const from = [
    { podSelector: { matchLabels: { [TEST_LABEL]: "true" } } },
    { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": OUTSIDE_NAMESPACE } } },
  ];
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: `only-port-${TEST_PORT}`, namespace: TEST_NAMESPACE, labels },
    spec: { podSelector: {}, policyTypes: ["Ingress"], ingress: [{ from, ports: [{ port: TEST_PORT }] }] },
  };
}

export function testLease(holder: string, now: number): Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: TEST_LEASE, namespace: TEST_NAMESPACE, labels },
    spec: { holderIdentity: holder, renewTime: renewTime(now) },
  };
}

/** Kubernetes has microseconds there. */
export function renewTime(now: number): string {
  return new Date(now).toISOString().replace("Z", "000Z");
}

/** What the strictest level of Pod Security asks for. Processes have their node's user, and nothing to be confined by. */
const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_534,
  runAsGroup: 65_534,
  seccompProfile: { type: "RuntimeDefault" },
} as const;
const CONTAINER_SECURITY = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

/** Of the test itself, or an outsider: the same, but that nothing leads to it. */
export function testPod(namespace: string, { name, place, resources, isProcess }: TestPlace, image: string): Pod {
  const affinity = affinityFor(place, undefined);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { ...labels, app: name } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      ...(affinity && { affinity }),
      ...(!isProcess && { securityContext: POD_SECURITY }),
      containers: [
        {
          name: "main",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["sh", "-c", serverScript],
          // What went wrong is told with the pod's status, which is all that is left of it.
          terminationMessagePolicy: "FallbackToLogsOnError",
          env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          ports: [{ containerPort: TEST_PORT }, { containerPort: CLOSED_PORT }],
          resources: {
            requests: { ...resources.requests },
            ...(resources.limits && { limits: { ...resources.limits } }),
          },
          readinessProbe: { tcpSocket: { port: TEST_PORT }, periodSeconds: 1 },
          ...(!isProcess && { securityContext: CONTAINER_SECURITY }),
        },
      ],
    },
  };
}
