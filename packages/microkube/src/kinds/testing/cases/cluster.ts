import { casesOf, type KindCase } from "./case.ts";

const named = (name: string, rest: Record<string, unknown> = {}) => ({ metadata: { name }, ...rest });
const of = (spec: Record<string, unknown>, name = "c") => named(name, { spec });

export const clusterCases: KindCase[] = [
  ...casesOf("", "Service", {
    headless: [of({ clusterIP: "None", selector: { a: "b" } }), { spec: { ports: [{ port: 80 }] } }],
    "headless without selector": of({ clusterIP: "None" }),
    external: [of({ type: "ExternalName", externalName: "a.b." }), { spec: { externalName: "A" } }],
    "with a chosen address": [
      of({
        clusterIP: "10.181.7.7",
        ports: [{ port: 80, targetPort: "http", name: "a" }],
        sessionAffinity: "ClientIP",
      }),
      { spec: { clusterIP: "10.181.7.8" } },
      { spec: { clusterIP: "10.181.7.8", clusterIPs: ["10.181.7.8"] } },
      { spec: { type: "ExternalName", externalName: "x" } },
      { spec: { sessionAffinity: "None" } },
      { spec: { ipFamilies: ["IPv6"] } },
      { spec: { ipFamilyPolicy: "RequireDualStack" } },
      { spec: { ports: [{ port: 81 }] } },
    ],
    "no ports": of({}),
    "out of range": of({ clusterIP: "1.2.3.4", ports: [{ port: 80 }] }),
    bad: of(
      {
        type: "X",
        ports: [
          { port: 0, protocol: "X", targetPort: "--" },
          { port: 1, name: "A" },
          { port: 1, name: "a", nodePort: 3, appProtocol: "/" },
        ],
        selector: { "/": "$" },
        sessionAffinity: "X",
        externalIPs: ["127.0.0.1", "x"],
        loadBalancerSourceRanges: ["1.2.3.4/99"],
        internalTrafficPolicy: "X",
        trafficDistribution: "X",
        clusterIP: "10.181.1.1",
      },
      "Bad.name",
    ),
    "bad families": of({ ipFamilies: ["IPv4", "IPv4"], ports: [{ port: 1 }], clusterIP: "10.181.1.1" }),
    "two stacks": of({ ipFamilyPolicy: "RequireDualStack", ports: [{ port: 1 }] }),
    "headless node port": of({ type: "NodePort", clusterIP: "None", ports: [{ port: 1 }] }),
    "class without balancer": of({
      loadBalancerClass: "a/b",
      allocateLoadBalancerNodePorts: true,
      healthCheckNodePort: 3,
      externalTrafficPolicy: "Local",
      ports: [{ port: 1 }],
      clusterIP: "10.181.1.1",
    }),
  }),
  ...casesOf("", "Node", {
    plain: [
      of({ podCIDR: "10.0.0.0/24", taints: [{ key: "a", effect: "NoExecute" }] }),
      { spec: { podCIDR: "10.0.1.0/24", podCIDRs: ["10.0.1.0/24"] } },
      { spec: { unschedulable: true } },
    ],
    bad: named("n", {
      spec: {
        taints: [
          { key: "/", value: "a b", effect: "" },
          { key: "a", effect: "X" },
        ],
        podCIDRs: ["10.0.0.1/24"],
      },
      status: { capacity: { cpu: "-1", "a.b/c": "500m" } },
    }),
  }),
  ...casesOf("", "Endpoints", {
    plain: named("e", { subsets: [{ addresses: [{ ip: "1.2.3.4" }], ports: [{ port: 80 }] }] }),
    bad: named("e", {
      subsets: [
        {},
        {
          addresses: [{ ip: "127.0.0.1", hostname: "A", nodeName: "A" }],
          ports: [{ port: 0 }, { port: 1, name: "A" }],
        },
      ],
    }),
  }),
  ...casesOf("discovery.k8s.io", "EndpointSlice", {
    plain: [
      named("e", { addressType: "IPv4", endpoints: [{ addresses: ["1.2.3.4"] }], ports: [{ port: 80 }] }),
      { addressType: "IPv6" },
      { ports: [] },
    ],
    bad: named("e", {
      addressType: "IPv4",
      endpoints: [{ addresses: [] }, { addresses: ["::1", "127.0.0.1"], nodeName: "A", hostname: "A" }],
      ports: [{ name: "A", protocol: "X" }, { name: "a" }, { name: "a", appProtocol: "/" }],
    }),
    "no type": named("e", { endpoints: [] }),
  }),
  ...casesOf("", "LimitRange", {
    plain: of({ limits: [{ type: "Container", max: { cpu: "2" }, min: { memory: "1Mi" }, default: { cpu: "1" } }] }),
    bad: of({
      limits: [
        { type: "Pod", max: { cpu: "1" }, min: { cpu: "2" }, default: { cpu: "1" } },
        { type: "X" },
        { type: "PersistentVolumeClaim" },
        { type: "Container", defaultRequest: { cpu: "3" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "0.5" } },
      ],
    }),
  }),
  ...casesOf("", "ResourceQuota", {
    plain: [
      of({ hard: { pods: "3", "requests.cpu": "1000m", "count/deployments.apps": "2" } }),
      { spec: { scopes: ["BestEffort"] } },
    ],
    bad: of({ hard: { pods: "1.5", x: "1", cpu: "-1" }, scopes: ["X", "BestEffort", "NotBestEffort"] }),
    "bad selector": of({
      hard: { pods: "1" },
      scopeSelector: {
        matchExpressions: [
          { scopeName: "PriorityClass", operator: "In" },
          { scopeName: "BestEffort", operator: "X" },
        ],
      },
    }),
  }),
  ...casesOf("", "PersistentVolumeClaim", {
    plain: [
      of({ accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }),
      { spec: { resources: { requests: { storage: "2Gi" } } } },
      { spec: { volumeName: "x" } },
      { spec: { volumeMode: "Block" } },
    ],
    bad: of({
      accessModes: ["X", "ReadWriteOncePod", "ReadWriteOnce"],
      resources: { requests: { storage: "0" } },
      storageClassName: "A",
      volumeMode: "X",
      dataSource: { kind: "X" },
    }),
    empty: of({}),
  }),
  ...casesOf("", "PersistentVolume", {
    plain: [
      of({ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } }),
      { spec: { hostPath: { path: "/y" } } },
    ],
    bad: of({
      capacity: { storage: "0", cpu: "1" },
      accessModes: ["X"],
      persistentVolumeReclaimPolicy: "X",
      hostPath: { path: ".." },
      nfs: {},
    }),
    local: of({ capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], local: { path: "/x" } }),
    empty: of({}),
  }),
  ...casesOf("rbac.authorization.k8s.io", "Role", {
    plain: named("a:b", { rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] }),
    bad: named("a%b", { rules: [{}, { verbs: ["get"], nonResourceURLs: ["/x"], resources: ["a"] }] }),
  }),
  ...casesOf("rbac.authorization.k8s.io", "ClusterRole", { bad: named("c", { aggregationRule: {}, rules: null }) }),
  ...casesOf("rbac.authorization.k8s.io", "RoleBinding", {
    bad: named("b", {
      roleRef: { kind: "X" },
      subjects: [{ kind: "User" }, { kind: "X", name: "a" }, { kind: "ServiceAccount", name: "A", apiGroup: "x" }],
    }),
  }),
  ...casesOf("rbac.authorization.k8s.io", "ClusterRoleBinding", {
    plain: [
      named("b", { roleRef: { kind: "ClusterRole", name: "x" }, subjects: [{ kind: "Group", name: "g" }] }),
      { roleRef: { name: "y" } },
    ],
    bad: named("b", { roleRef: { kind: "Role", name: "a/b" }, subjects: [{ kind: "ServiceAccount", name: "a" }] }),
  }),
  ...casesOf("scheduling.k8s.io", "PriorityClass", {
    plain: [named("p", { value: 5 }), { value: 6 }, { preemptionPolicy: "Never" }, { description: "x" }],
    bad: named("system-x", { value: 2000000001, preemptionPolicy: "X" }),
    high: named("high", { value: 2000000001 }),
  }),
  ...casesOf("coordination.k8s.io", "Lease", {
    plain: of({ holderIdentity: "x", leaseDurationSeconds: 3 }),
    bad: of({ leaseDurationSeconds: 0, leaseTransitions: -1 }),
  }),
  ...casesOf("node.k8s.io", "RuntimeClass", {
    plain: [named("r", { handler: "runc" }), { handler: "x" }],
    bad: named("r", { handler: "A" }),
    empty: named("r"),
  }),
  ...casesOf("storage.k8s.io", "StorageClass", {
    plain: [named("s", { provisioner: "a.b/c" }), { provisioner: "x" }, { allowVolumeExpansion: true }],
    bad: named("s", { reclaimPolicy: "X", volumeBindingMode: "X" }),
  }),
  ...casesOf("storage.k8s.io", "CSIDriver", {
    plain: [of({}, "a.b"), { spec: { attachRequired: false } }],
    bad: of({ fsGroupPolicy: "X", volumeLifecycleModes: ["X"] }, "A"),
  }),
  ...casesOf("storage.k8s.io", "CSINode", {
    bad: of({
      drivers: [
        { name: "A B", nodeID: "" },
        { name: "a", nodeID: "x", topologyKeys: ["/", "/"] },
      ],
    }),
  }),
  ...casesOf("networking.k8s.io", "Ingress", {
    plain: of({
      rules: [
        {
          host: "a.b",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 80 } } } }],
          },
        },
      ],
    }),
    empty: of({}),
    bad: of({
      ingressClassName: "A",
      defaultBackend: {},
      rules: [
        { host: "1.2.3.4", http: { paths: [] } },
        {
          host: "*.x.*",
          http: {
            paths: [
              {
                path: "x//y/..",
                pathType: "Exact",
                backend: { service: { name: "A", port: { name: "x", number: 1 } } },
              },
              { pathType: "X", backend: { service: { name: "a" }, resource: { kind: "a", name: "b" } } },
            ],
          },
        },
      ],
      tls: [{ hosts: ["*"], secretName: "A" }],
    }),
  }),
  ...casesOf("networking.k8s.io", "IngressClass", {
    plain: [of({ controller: "a.b/c" }), { spec: { controller: "a.b/d" } }],
    bad: of({ controller: "x" }),
  }),
  ...casesOf("networking.k8s.io", "NetworkPolicy", {
    plain: of({ podSelector: {}, egress: [{ ports: [{ port: 80 }] }] }),
    bad: of({
      podSelector: { matchLabels: { "/": "" } },
      ingress: [
        {
          from: [{}, { ipBlock: { cidr: "10.0.0.0/8", except: ["11.0.0.0/16"] }, podSelector: {} }],
          ports: [{ port: "A" }, { port: 80, endPort: 70 }, { endPort: 3 }],
        },
      ],
      policyTypes: ["X"],
    }),
  }),
  ...casesOf("", "Event", {
    plain: {
      metadata: { name: "e" },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "x",
      message: "y",
    },
    bad: { metadata: { name: "e" }, involvedObject: { kind: "Pod", name: "p", namespace: "other" } },
  }),
  ...casesOf("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", {
    plain: named("w", {
      webhooks: [
        {
          name: "a.b.c",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          clientConfig: { url: "https://x/y" },
          rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        },
      ],
    }),
    bad: named("w", {
      webhooks: [
        {
          name: "a",
          clientConfig: { url: "http://x?y#z" },
          rules: [{ operations: ["X", "*"], apiGroups: ["*", "a"], resources: ["*/*", "a"] }],
          timeoutSeconds: 99,
          failurePolicy: "X",
          matchPolicy: "X",
        },
        {
          name: "a.b.c",
          sideEffects: "Some",
          admissionReviewVersions: ["v3"],
          clientConfig: { service: { path: "x", port: 0 } },
        },
      ],
    }),
  }),
  ...casesOf("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", {
    plain: of({ policyName: "p", validationActions: ["Deny"] }),
    bad: of({ policyName: "A", validationActions: ["Deny", "Warn", "X"], paramRef: {} }),
  }),
  ...casesOf("", "ServiceAccount", { plain: named("s", { secrets: [{ name: "x" }] }), bad: named("A") }),
  ...casesOf("", "PodTemplate", {
    plain: named("t", { template: { spec: { containers: [{ name: "a", image: "b" }] } } }),
    bad: named("t"),
  }),
  ...casesOf("admissionregistration.k8s.io", "MutatingWebhookConfiguration", {
    plain: [
      named("w", {
        webhooks: [
          {
            name: "a.b.c",
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
            clientConfig: { service: { name: "s", namespace: "n" } },
          },
        ],
      }),
      { webhooks: [] },
      { metadata: { labels: { a: "b" } } },
    ],
  }),
  ...casesOf("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", {
    plain: [
      of({
        matchConstraints: {
          resourceRules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        },
        validations: [{ expression: "true" }],
      }),
      { spec: { failurePolicy: "Ignore" } },
    ],
    bad: of({
      failurePolicy: "X",
      paramKind: {},
      matchConstraints: { matchPolicy: "X", resourceRules: [{}] },
      validations: [{ expression: " " }],
    }),
    empty: of({}),
  }),
  ...casesOf("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", {
    plain: [of({ policyName: "p" }), { spec: { policyName: "q" } }],
  }),
  ...casesOf("apiregistration.k8s.io", "APIService", {
    plain: [
      named("v1.a.b", {
        spec: {
          group: "a.b",
          version: "v1",
          groupPriorityMinimum: 10,
          versionPriority: 10,
          service: { name: "s", namespace: "n" },
          insecureSkipTLSVerify: true,
        },
      }),
      { spec: { versionPriority: 0 } },
    ],
    bad: named("x", { spec: { group: "A", version: "V", service: {} } }),
  }),
  ...casesOf("storage.k8s.io", "VolumeAttachment", {
    plain: [of({ attacher: "a.b", nodeName: "n", source: { persistentVolumeName: "v" } }), { spec: { nodeName: "m" } }],
    bad: of({ attacher: "A B", nodeName: "A", source: {} }),
  }),
  ...casesOf("storage.k8s.io", "VolumeAttributesClass", {
    plain: [named("v", { driverName: "a.b", parameters: { a: "b" } }), { parameters: { a: "c" } }],
    bad: named("v"),
  }),
  ...casesOf("storage.k8s.io", "CSIStorageCapacity", {
    plain: [named("v", { storageClassName: "s", capacity: "1000Mi" }), { storageClassName: "t" }],
    bad: named("v", { storageClassName: "A", nodeTopology: { matchLabels: { "/": "" } } }),
  }),
  ...casesOf("networking.k8s.io", "ServiceCIDR", {
    plain: [of({ cidrs: ["10.9.0.0/16"] }), { spec: { cidrs: ["10.8.0.0/16"] } }],
    bad: of({ cidrs: ["10.9.0.1/16"] }),
    empty: of({}),
  }),
  ...casesOf("networking.k8s.io", "IPAddress", {
    plain: of({ parentRef: { resource: "services", name: "s", namespace: "n" } }, "10.9.8.7"),
    bad: of({}, "10.9.8"),
  }),
  ...casesOf("flowcontrol.apiserver.k8s.io", "FlowSchema", {
    // Not changed: on the real server a controller of its own writes the status meanwhile.
    plain: of({
      priorityLevelConfiguration: { name: "global-default" },
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [
            { kind: "User", user: { name: "u" } },
            { kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "n" } },
          ],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }],
          nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/x/*"] }],
        },
      ],
    }),
    "first of all": of({ matchingPrecedence: 1, priorityLevelConfiguration: { name: "exempt" } }),
    bad: of({
      matchingPrecedence: 10_001,
      priorityLevelConfiguration: { name: "A B" },
      rules: [
        {},
        {
          subjects: [
            { kind: "X" },
            { kind: "User", group: { name: "g" } },
            { kind: "Group", group: { name: "" }, serviceAccount: { name: "a", namespace: "b" } },
            { kind: "ServiceAccount", serviceAccount: { name: "A", namespace: "B" }, user: { name: "u" } },
          ],
          resourceRules: [
            {},
            { verbs: ["*", "get"], apiGroups: ["*", ""], resources: ["*", "pods"], namespaces: ["*", "n"] },
            { verbs: ["x"], apiGroups: [""], resources: ["pods"], namespaces: ["A"] },
          ],
          nonResourceRules: [
            {},
            { verbs: ["get"], nonResourceURLs: ["*", "/"] },
            { verbs: ["get"], nonResourceURLs: ["", "x", "/ ", "//", "/*/*", "/a*", "/"] },
          ],
        },
      ],
    }),
    "without a level": of({ matchingPrecedence: -1 }),
    "with a wrong distinguisher": of({
      priorityLevelConfiguration: { name: "x" },
      distinguisherMethod: { type: "X" },
    }),
  }),
  ...casesOf("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", {
    plain: [
      of({ type: "Limited", limited: { limitResponse: { type: "Queue", queuing: {} } } }),
      { spec: { limited: { nominalConcurrencyShares: 0, limitResponse: { queuing: { queues: 4 } } } } },
      { spec: { limited: { limitResponse: { type: "Reject", queuing: null } } } },
    ],
    rejecting: [of({ type: "Limited", limited: { limitResponse: { type: "Reject" } } }), { spec: { type: "Exempt" } }],
    bad: of({
      type: "Limited",
      exempt: {},
      limited: {
        nominalConcurrencyShares: -1,
        lendablePercent: 101,
        borrowingLimitPercent: -1,
        limitResponse: { type: "Queue", queuing: { queues: -1, handSize: -1, queueLengthLimit: -1 } },
      },
    }),
    "with too large a hand": of({
      type: "Limited",
      limited: { limitResponse: { type: "Queue", queuing: { queues: 20_000_000, handSize: 10 } } },
    }),
    "without what its type asks for": of({ type: "Limited" }),
    "with a response without queues": of({ type: "Limited", limited: { limitResponse: { type: "Queue" } } }),
    "with queues that nothing uses": of({
      type: "Limited",
      limited: { limitResponse: { type: "Reject", queuing: {} } },
    }),
    "with a wrong response": of({ type: "Limited", limited: { limitResponse: { type: "X" } } }),
    "without a response": of({ type: "Limited", limited: {} }),
    "with a wrong type": of({ type: "X" }),
    "exempt by another name": of({ type: "Exempt", exempt: { lendablePercent: -1 }, limited: {} }),
    empty: of({}),
  }),
];
