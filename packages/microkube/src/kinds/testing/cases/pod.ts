import { casesOf, type KindCase } from "./case.ts";

const container = { name: "a", image: "nginx" };
const pod = (spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) => ({
  metadata: { name: "p", ...metadata },
  spec: { automountServiceAccountToken: false, containers: [container], ...spec },
});
const withContainer = (rest: Record<string, unknown>, spec: Record<string, unknown> = {}) =>
  pod({ ...spec, containers: [{ ...container, ...rest }] });

/** All that may name the pod's own labels by key. */
const ownLabels = (labelSelector: object) => {
  const term = { topologyKey: "zone", labelSelector, matchLabelKeys: ["version", "app"], mismatchLabelKeys: ["team"] };
  const affinity = {
    requiredDuringSchedulingIgnoredDuringExecution: [term],
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }],
  };
  const constraint = { topologyKey: "zone", maxSkew: 1, labelSelector, matchLabelKeys: ["version", "app"] };
  return {
    affinity: { podAffinity: affinity, podAntiAffinity: affinity },
    topologySpreadConstraints: [
      { ...constraint, whenUnsatisfiable: "DoNotSchedule" },
      { ...constraint, whenUnsatisfiable: "ScheduleAnyway" },
    ],
  };
};

export const podCases: KindCase[] = [
  ...casesOf("", "Pod", {
    plain: [
      pod({}),
      { spec: { hostname: "x" } },
      { spec: { containers: [{ name: "a", image: "other" }] } },
      { spec: { containers: [{ name: "a", image: " other " }] } },
      {
        spec: {
          containers: [
            { name: "a", image: "other" },
            { name: "b", image: "x" },
          ],
        },
      },
      { spec: { activeDeadlineSeconds: 10 } },
      { spec: { activeDeadlineSeconds: -1 } },
      { spec: { nodeName: "n1" } },
      { spec: { schedulingGates: [{ name: "a.b/c" }] } },
      { metadata: { annotations: { "kubernetes.io/config.mirror": "x" } } },
    ],
    "with a deadline": [
      pod({ activeDeadlineSeconds: 50 }),
      { spec: { activeDeadlineSeconds: 60 } },
      { spec: { activeDeadlineSeconds: 40 } },
      { spec: { activeDeadlineSeconds: null } },
    ],
    gated: [
      pod({ schedulingGates: [{ name: "a.b/c" }], nodeSelector: { a: "b" } }),
      { spec: { nodeSelector: { a: "b", c: "d" } } },
      { spec: { nodeSelector: { a: "x" } } },
      { spec: { schedulingGates: null } },
    ],
    "gated and bound": pod({ schedulingGates: [{ name: "a" }, { name: "a" }], nodeName: "x" }),
    "everything once": pod({
      hostNetwork: true,
      hostAliases: [{ ip: "1.2.3.4", hostnames: ["a.b"] }],
      initContainers: [
        { name: "i", image: "x:1", resources: { limits: { cpu: "0.5", memory: "1024Ki", "example.com/gpu": "2" } } },
        { name: "side", image: "x@sha256:abc", restartPolicy: "Always", livenessProbe: { exec: { command: ["x"] } } },
      ],
      containers: [
        {
          ...container,
          command: ["a"],
          args: [],
          env: [
            { name: "A", value: "b" },
            { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
            { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
          ],
          envFrom: [{ prefix: "X_", configMapRef: { name: "x" } }],
          ports: [
            { containerPort: 80, name: "http" },
            { containerPort: 53, protocol: "UDP" },
          ],
          livenessProbe: { httpGet: { port: 80 } },
          readinessProbe: { tcpSocket: { port: "http" }, periodSeconds: 3 },
          startupProbe: { grpc: { port: 9 } },
          lifecycle: { preStop: { sleep: { seconds: 3 } }, postStart: { httpGet: { port: 80, path: "/x" } } },
          volumeMounts: [
            { name: "v", mountPath: "/v" },
            { name: "c", mountPath: "/c", subPath: "x", readOnly: true },
          ],
          resources: { requests: { cpu: "100m" }, limits: { cpu: 1, memory: "1.5Gi" } },
          securityContext: { runAsUser: 0, capabilities: { add: ["NET_ADMIN"] } },
        },
      ],
      volumes: [
        { name: "v" },
        { name: "c", configMap: { name: "x", items: [{ key: "a", path: "b" }] } },
        { name: "s", secret: { secretName: "x", optional: true } },
        { name: "h", hostPath: { path: "/x" } },
        {
          name: "p",
          projected: {
            sources: [{ downwardAPI: { items: [{ path: "l", fieldRef: { fieldPath: "metadata.labels" } }] } }],
          },
        },
        {
          name: "d",
          downwardAPI: { items: [{ path: "a", resourceFieldRef: { containerName: "a", resource: "limits.cpu" } }] },
        },
        {
          name: "e",
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
            },
          },
        },
        { name: "n", nfs: { server: "x", path: "/y" } },
        { name: "q", persistentVolumeClaim: { claimName: "x" } },
        { name: "m", emptyDir: { medium: "Memory", sizeLimit: "1000Mi" } },
      ],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] }],
          },
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: {} } },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "zone",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { a: "b" } },
        },
      ],
      dnsConfig: { nameservers: ["1.1.1.1"], searches: ["a.b."], options: [{ name: "x" }] },
      securityContext: { fsGroup: 3, sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] },
      readinessGates: [{ conditionType: "a.b/c" }],
    }),
    "no containers": pod({ containers: [] }),
    "bad containers": pod({
      containers: [
        { name: "A b", image: "" },
        { name: "a", image: "x", imagePullPolicy: "Sometimes", terminationMessagePolicy: "x" },
        { name: "a", image: " x" },
        {},
      ],
      initContainers: [
        { name: "a", image: "x", livenessProbe: {}, lifecycle: {} },
        { name: "i", image: "x", restartPolicy: "Maybe" },
      ],
      ephemeralContainers: [{ name: "e", image: "x", targetContainerName: "zzz", ports: [{ containerPort: 1 }] }],
    }),
    "bad ports": withContainer({
      ports: [
        { containerPort: 0 },
        { containerPort: 70000, hostPort: -1, protocol: "ICMP", name: "Too-long-a-name-here--" },
        { containerPort: 1, name: "a", hostPort: 5 },
        { containerPort: 2, name: "a", hostPort: 5 },
      ],
    }),
    "bad environment": withContainer({
      env: [
        { name: "" },
        { name: "A=B" },
        { name: "OK", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "E", valueFrom: {} },
        { name: "F", valueFrom: { fieldRef: { fieldPath: "metadata.whatever" } } },
        { name: "G", valueFrom: { fieldRef: { fieldPath: "status.phase" } } },
        { name: "H", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a/b/c']" } } },
        { name: "I", valueFrom: { fieldRef: { fieldPath: "x['y']", apiVersion: "v2" } } },
        { name: "J", valueFrom: { resourceFieldRef: { resource: "limits.x" } } },
        { name: "K", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "2" } } },
        { name: "L", valueFrom: { secretKeyRef: { name: "A", key: "" }, configMapKeyRef: { name: "a", key: "/" } } },
      ],
      envFrom: [{}, { prefix: "=", secretRef: {} }, { secretRef: { name: "a" }, configMapRef: { name: "B" } }],
    }),
    "bad probes": withContainer({
      livenessProbe: {
        httpGet: { port: 0, scheme: "ftp", httpHeaders: [{ name: "a b", value: "" }] },
        successThreshold: 2,
      },
      readinessProbe: { exec: {}, tcpSocket: { port: "x" }, terminationGracePeriodSeconds: 1, periodSeconds: -1 },
      startupProbe: { terminationGracePeriodSeconds: -1 },
      lifecycle: { preStop: { sleep: { seconds: 100 } }, postStart: {} },
    }),
    "bad resources": withContainer({
      resources: {
        limits: { cpu: "1", memory: "-1", foo: "1", "a.b/c": "1500m", "hugepages-2Mi": "3Mi", "kubernetes.io/x": "1" },
        requests: { cpu: "2", "a.b/c": "1", "x.y/z": "1", "bad name": "1" },
        claims: [{ name: "x" }, { name: "" }],
      },
      resizePolicy: [{ resourceName: "gpu", restartPolicy: "x" }],
    }),
    "bad volumes": pod({
      volumes: [
        { name: "A" },
        { name: "x", hostPath: { path: "/a/../b", type: "Thing" } },
        { name: "y", emptyDir: {}, hostPath: { path: "/x" } },
        { name: "z", secret: { defaultMode: 4096, items: [{ key: "", path: "../x" }] } },
        { name: "z", configMap: { items: [{ key: "a", path: "/abs", mode: -1 }] } },
        { name: "n", nfs: { path: "rel" } },
        { name: "p", persistentVolumeClaim: {} },
        { name: "c", csi: { driver: "bad driver", nodePublishSecretRef: {} } },
        {
          name: "d",
          downwardAPI: {
            items: [
              { path: "" },
              { path: "a", fieldRef: { fieldPath: "spec.nodeName" } },
              { path: "b", resourceFieldRef: { resource: "limits.cpu" } },
            ],
          },
        },
        { name: "e", ephemeral: {} },
        {
          name: "j",
          projected: {
            sources: [
              {
                secret: { name: "", items: [{ key: "a", path: "same" }] },
                configMap: { name: "x", items: [{ key: "a", path: "same" }] },
              },
              { serviceAccountToken: { path: "", expirationSeconds: 5 } },
            ],
          },
        },
      ],
    }),
    "bad mounts": withContainer(
      {
        volumeMounts: [
          { name: "", mountPath: "" },
          { name: "v", mountPath: "/a", subPath: "/abs", subPathExpr: "../x" },
          { name: "v", mountPath: "/a", mountPropagation: "Bidirectional" },
          { name: "v", mountPath: "/b", mountPropagation: "X", recursiveReadOnly: "Enabled" },
        ],
        volumeDevices: [
          { name: "v", devicePath: "/b" },
          { name: "none", devicePath: "/../x" },
        ],
      },
      { volumes: [{ name: "v" }] },
    ),
    "bad rest": pod({
      restartPolicy: "Perhaps",
      dnsPolicy: "None",
      nodeSelector: { "a/b/c": "$" },
      nodeName: "A",
      hostname: "a.b",
      subdomain: "A",
      activeDeadlineSeconds: 0,
      os: { name: "plan9" },
      hostAliases: [{ ip: "1.2.3", hostnames: ["_"] }],
      tolerations: [
        { operator: "Equal" },
        { key: "a", operator: "Exists", value: "x" },
        { key: "/", value: "a b", effect: "Maybe" },
        { key: "a", operator: "Near", tolerationSeconds: 3 },
      ],
      readinessGates: [{ conditionType: "" }],
      topologySpreadConstraints: [
        { maxSkew: 0, topologyKey: "", whenUnsatisfiable: "X", minDomains: 0, nodeTaintsPolicy: "y" },
        {
          maxSkew: 1,
          topologyKey: "a",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
        },
        {
          maxSkew: 1,
          topologyKey: "a",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchExpressions: [{ key: "/", operator: "Near", values: ["$"] }] },
        },
      ],
      shareProcessNamespace: true,
      hostPID: true,
      hostUsers: false,
    }),
    "bad dns": pod({
      dnsConfig: { nameservers: ["a", "1.1.1.1", "1.1.1.2", "1.1.1.3"], searches: ["A B"], options: [{ value: "x" }] },
    }),
    "bad affinity": pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] },
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 0,
              preference: {
                matchExpressions: [{ key: "a", operator: "Gt", values: ["1", "2"] }],
                matchFields: [{ key: "x", operator: "Exists" }],
              },
            },
          ],
        },
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: "",
              namespaces: ["A"],
              labelSelector: { matchLabels: { a: "$" } },
              matchLabelKeys: ["a/b/c"],
            },
          ],
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 101, podAffinityTerm: { topologyKey: "x", mismatchLabelKeys: ["a"] } },
          ],
        },
      },
    }),
    "labels of its own, by key": pod(ownLabels({}), { labels: { app: "a", version: "1", team: "t" } }),
    "labels by key that it does not have": pod(ownLabels({})),
    "labels by key that its selectors have too": pod(
      ownLabels({
        matchLabels: { version: "2" },
        matchExpressions: [
          { key: "app", operator: "Exists" },
          { key: "app", operator: "In", values: ["b"] },
        ],
      }),
      { labels: { app: "a", version: "1", team: "t" } },
    ),
    "one key to be like and unlike": pod({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: "x", labelSelector: {}, matchLabelKeys: ["z", "app"], mismatchLabelKeys: ["app"] },
          ],
        },
      },
    }),
    "bad security": withContainer(
      {
        securityContext: {
          runAsUser: -1,
          procMount: "Unmasked",
          seccompProfile: { type: "Localhost" },
          appArmorProfile: { type: "X" },
        },
      },
      {
        securityContext: {
          fsGroup: -1,
          supplementalGroups: [3000000000],
          sysctls: [{ name: "A" }, { name: "" }],
          fsGroupChangePolicy: "x",
          seccompProfile: { type: "RuntimeDefault", localhostProfile: "x" },
          appArmorProfile: { type: "Localhost" },
        },
      },
    ),
    "with warnings": pod(
      {
        containers: [
          {
            ...container,
            env: [
              { name: "A", value: "1" },
              { name: "A", value: "2" },
            ],
            ports: [{ containerPort: 1, name: "a" }],
          },
          {
            name: "b",
            image: "x",
            ports: [{ containerPort: 1, name: "a" }],
            resources: { limits: { memory: "100m" } },
          },
        ],
        nodeSelector: { "beta.kubernetes.io/os": "linux" },
        imagePullSecrets: [{ name: "a" }, { name: "a" }, {}],
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "a", whenUnsatisfiable: "DoNotSchedule" }],
        terminationGracePeriodSeconds: -3,
      },
      { name: "a.b", annotations: { "scheduler.alpha.kubernetes.io/critical-pod": "" } },
    ),
    "host network with other ports": withContainer(
      { ports: [{ containerPort: 80, hostPort: 81 }] },
      { hostNetwork: true },
    ),
    "deletion cost": pod({}, { annotations: { "controller.kubernetes.io/pod-deletion-cost": "x" } }),
  }),
];
