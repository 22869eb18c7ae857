import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CONSUMER_LABEL, type ShadowPod } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import type { ForgeContext, PodSpec } from "./forge-context.ts";
import {
  FORGED_ANNOTATION,
  forgeShadowPod,
  HOME_CA_CONFIG_MAP,
  offloadRefusals,
  wantedTokens,
  wantsHomeAuthority,
} from "./index.ts";

const context: ForgeContext = {
  consumer: "consumerconsumerconsumer22",
  contract: "c-1",
  twinNamespace: "shop-twin",
  hostIP: "10.9.9.9",
};

/** A pod as an API server has it, after its admission. */
function podOf(spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10", ...metadata },
    spec: {
      nodeName: "wave",
      serviceAccountName: "shop",
      serviceAccount: "shop",
      schedulerName: "default-scheduler",
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
      tolerations: [{ key: "fjord.dev/virtual-node", operator: "Exists" }],
      containers: [
        {
          name: "main",
          image: "busybox:1",
          volumeMounts: [
            { name: "kube-api-access-x7", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
          ],
        },
      ],
      volumes: [
        {
          name: "kube-api-access-x7",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
      ...spec,
    },
  };
}

const specOf = (shadow: ShadowPod) => shadow.spec.pod.spec as unknown as PodSpec;
const forge = (pod: Pod, more: Partial<ForgeContext> = {}) => forgeShadowPod(pod, { ...context, ...more });
const env = (shadow: ShadowPod) => specOf(shadow).containers[0]?.env;
const main = { name: "main", image: "busybox:1" };

describe("forging a shadow pod", () => {
  it("names it, says whose it is and which pod it stands for", () => {
    const { metadata, spec } = forge(podOf());
    assert.equal(metadata.name, "web");
    assert.equal(metadata.namespace, "shop-twin");
    assert.deepEqual(metadata.labels, { [CONSUMER_LABEL]: context.consumer });
    assert.equal(spec.contract, "c-1");
    assert.equal(spec.originUid, "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10");
  });

  it("leaves at home what chose the node, and who the pod is there", () => {
    const pod = podOf({
      nodeSelector: { a: "b" },
      affinity: { nodeAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
      priorityClassName: "high",
      readinessGates: [{ conditionType: "example.com/ready" }],
      overhead: { cpu: "1" },
    });
    assert.deepEqual(specOf(forge(pod)), { containers: [main], automountServiceAccountToken: false });
  });

  it("has the provider's scheduler wish for what home's has kept: neighbours of its own namespace, near or far", () => {
    const labelSelector = { matchLabels: { app: "web" } };
    const term = { labelSelector, topologyKey: "kubernetes.io/hostname" };
    const wish = { weight: 7, podAffinityTerm: { labelSelector, topologyKey: "topology.kubernetes.io/zone" } };
    const spread = { maxSkew: 1, topologyKey: "kubernetes.io/hostname", labelSelector };
    const pod = podOf({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { ...term, matchLabelKeys: ["pod-template-hash"] },
            { ...term, namespaces: ["another"] },
            { ...term, namespaceSelector: {} },
            { ...term, topologyKey: "example.com/rack" },
          ],
          preferredDuringSchedulingIgnoredDuringExecution: [wish],
        },
        podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
      },
      topologySpreadConstraints: [
        { ...spread, whenUnsatisfiable: "DoNotSchedule", minDomains: 3, matchLabelKeys: ["pod-template-hash"] },
        { ...spread, maxSkew: 5, whenUnsatisfiable: "ScheduleAnyway" },
      ],
    });
    const { affinity, topologySpreadConstraints } = specOf(forge(pod));
    assert.deepEqual(affinity, {
      podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term }] },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }, wish],
      },
    });
    assert.deepEqual(topologySpreadConstraints, [{ ...spread, whenUnsatisfiable: "ScheduleAnyway" }]);
  });

  it("keeps what the pod needs to run", () => {
    const kept: Partial<PodSpec> = {
      terminationGracePeriodSeconds: 5,
      restartPolicy: "OnFailure",
      hostname: "web-0",
      subdomain: "web",
      dnsPolicy: "ClusterFirst",
      enableServiceLinks: true,
      imagePullSecrets: [{ name: "registry" }],
      runtimeClassName: "process",
      securityContext: { runAsUser: 7 },
      activeDeadlineSeconds: 60,
    };
    const spec = specOf(forge(podOf(kept)));
    for (const [name, value] of Object.entries(kept)) assert.deepEqual(spec[name as keyof PodSpec], value, name);
  });

  it("takes labels and annotations along, but for those of the cluster's own machinery", () => {
    const metadata = {
      labels: { app: "web", "pod-template-hash": "x", "fjord.dev/consumer": "another" },
      annotations: {
        note: "hi",
        "batch.kubernetes.io/job-completion-index": "3",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "cni.projectcalico.org/podIP": "10.0.0.1",
        "fjord.dev/home-api": "false",
      },
    };
    const shadow = forge(podOf({}, metadata));
    assert.deepEqual(shadow.spec.pod.metadata?.labels, { app: "web", "pod-template-hash": "x" });
    assert.deepEqual(shadow.spec.pod.metadata?.annotations, {
      note: "hi",
      "batch.kubernetes.io/job-completion-index": "3",
    });
  });

  it("asks for a lost pod of a Job not to be made again", () => {
    const owner = (kind: string) => [{ apiVersion: "batch/v1", kind, name: "x", uid: "u", controller: true }];
    assert.equal(forge(podOf()).spec.recreate, "Always");
    assert.equal(forge(podOf({}, { ownerReferences: owner("ReplicaSet") })).spec.recreate, "Always");
    assert.equal(
      forge(podOf({ restartPolicy: "OnFailure" }, { ownerReferences: owner("Job") })).spec.recreate,
      "Never",
    );
    assert.equal(forge(podOf({ restartPolicy: "Never" })).spec.recreate, "Never");
  });

  it("gives variables of the downward API the values of home", () => {
    const of = (fieldPath: string) => ({ name: fieldPath, valueFrom: { fieldRef: { fieldPath } } });
    const paths = [
      "metadata.name",
      "metadata.namespace",
      "metadata.uid",
      "spec.nodeName",
      "spec.serviceAccountName",
      "status.hostIP",
      "status.podIP",
      "metadata.labels['app']",
      "metadata.annotations['fjord.dev/home-api']",
    ];
    const pod = podOf(
      { containers: [{ ...main, env: paths.map(of) }] },
      { annotations: { "fjord.dev/home-api": "no" } },
    );
    const values = Object.fromEntries((env(forge(pod)) ?? []).map(({ name, value }) => [name, value]));
    assert.deepEqual(values, {
      "metadata.name": undefined,
      "metadata.namespace": "shop",
      "metadata.uid": "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
      "spec.nodeName": "wave",
      "spec.serviceAccountName": "shop",
      "status.hostIP": "10.9.9.9",
      "status.podIP": undefined,
      "metadata.labels['app']": undefined,
      "metadata.annotations['fjord.dev/home-api']": "no",
    });
  });

  it("gives files of the downward API the values of home by annotations", () => {
    const item = (fieldPath: string) => ({ path: "p", fieldRef: { fieldPath } });
    const volumes = [
      { name: "a", downwardAPI: { items: [item("metadata.namespace"), item("metadata.labels")] } },
      { name: "b", projected: { sources: [{ downwardAPI: { items: [item("metadata.uid")] } }] } },
    ];
    const shadow = forge(podOf({ volumes }));
    assert.deepEqual(shadow.spec.pod.metadata?.annotations, {
      "fjord.dev/origin-namespace": "shop",
      "fjord.dev/origin-uid": "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
    });
    assert.deepEqual(specOf(shadow).volumes, [
      {
        name: "a",
        downwardAPI: { items: [item("metadata.annotations['fjord.dev/origin-namespace']"), item("metadata.labels")] },
      },
      {
        name: "b",
        projected: { sources: [{ downwardAPI: { items: [item("metadata.annotations['fjord.dev/origin-uid']")] } }] },
      },
    ]);
  });

  it("does not tell init containers and ephemeral ones otherwise than main ones", () => {
    const variable = { name: "NS", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } };
    const container = { ...main, env: [variable] };
    const spec = specOf(
      forge(podOf({ containers: [container], initContainers: [container], ephemeralContainers: [container] })),
    );
    const literal = [{ name: "NS", value: "shop" }];
    assert.deepEqual(spec.initContainers?.[0]?.env, literal);
    assert.deepEqual(spec.ephemeralContainers?.[0]?.env, literal);
  });

  it("is the same each time, and leaves the pod as it was", () => {
    const pod = podOf({ volumes: [{ name: "a", emptyDir: {} }] });
    const before = structuredClone(pod);
    assert.deepEqual(forge(pod), forge(pod));
    assert.deepEqual(pod, before);
  });

  it("has a digest that tells when something that matters has changed", () => {
    const digest = (pod: Pod) => forge(pod).metadata.annotations?.[FORGED_ANNOTATION];
    assert.equal(digest(podOf()), digest(podOf({}, { annotations: { "fjord.dev/x": "y" }, resourceVersion: "9" })));
    assert.notEqual(digest(podOf()), digest(podOf({}, { labels: { a: "b" } })));
    assert.notEqual(digest(podOf()), digest(podOf({ containers: [{ ...main, image: "busybox:2" }] })));
  });
});

describe("tokens of service accounts", () => {
  const asking = podOf({
    volumes: [
      {
        name: "vault",
        projected: {
          sources: [
            { serviceAccountToken: { path: "token", audience: "vault", expirationSeconds: 600 } },
            { configMap: { name: "kube-root-ca.crt" } },
          ],
        },
      },
    ],
  });

  it("stay at home unless they are asked for", () => {
    assert.deepEqual(wantedTokens(podOf()), []);
    assert.equal(wantsHomeAuthority(podOf()), false);
    assert.equal(specOf(forge(podOf())).containers[0]?.volumeMounts, undefined);
  });

  it("that a volume names become Secrets of the pod's own", () => {
    const [token] = wantedTokens(asking);
    assert.equal(token?.audience, "vault");
    assert.equal(token?.expirationSeconds, 600);
    assert.deepEqual(specOf(forge(asking)).volumes?.[0]?.projected?.sources, [
      { secret: { name: token?.secret, items: [{ key: "token", path: "token" }] } },
      { configMap: { name: HOME_CA_CONFIG_MAP } },
    ]);
    const again = { ...asking, metadata: { ...asking.metadata, uid: "another" } };
    assert.notEqual(wantedTokens(again)[0]?.secret, token?.secret);
  });

  it("go with a pod that asks for the home API, and it is told where that is", () => {
    const pod = podOf({}, { annotations: { "fjord.dev/home-api": "true" } });
    const shadow = forge(pod, { homeApi: { host: "10.1.2.3", port: "6443" } });
    assert.equal(specOf(shadow).containers[0]?.volumeMounts?.length, 1);
    assert.equal(wantedTokens(pod).length, 1);
    assert.equal(wantsHomeAuthority(pod), true);
    assert.deepEqual(env(shadow), [
      { name: "KUBERNETES_SERVICE_HOST", value: "10.1.2.3" },
      { name: "KUBERNETES_SERVICE_PORT", value: "6443" },
      { name: "KUBERNETES_SERVICE_PORT_HTTPS", value: "6443" },
    ]);
    const sources = specOf(shadow).volumes?.[0]?.projected?.sources ?? [];
    assert.ok(sources.every((source) => source.serviceAccountToken === undefined));
  });
});

describe("what the owner of a virtual node adds", () => {
  it("has the last word", () => {
    const podPatch = {
      metadata: { labels: { zone: "a", "fjord.dev/consumer": "x" }, annotations: { note: null } },
      spec: { nodeSelector: { gpu: "yes" }, containers: [{ name: "main", env: [{ name: "A", value: "2" }] }] },
    };
    const pod = podOf(
      {
        containers: [
          {
            ...main,
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "1" },
            ],
          },
        ],
      },
      { annotations: { note: "x" } },
    );
    const shadow = forge(pod, { podPatch });
    assert.deepEqual(shadow.spec.pod.metadata, { labels: { zone: "a" }, annotations: {} });
    assert.deepEqual(specOf(shadow).nodeSelector, { gpu: "yes" });
    assert.deepEqual(env(shadow), [
      { name: "A", value: "2" },
      { name: "B", value: "1" },
    ]);
  });
});

describe("pods that cannot go", () => {
  it("are told what keeps them", () => {
    assert.deepEqual(offloadRefusals(podOf()), []);
    for (const field of ["hostNetwork", "hostPID", "hostIPC"]) {
      assert.match(offloadRefusals(podOf({ [field]: true })).join(), new RegExp(field));
      assert.deepEqual(offloadRefusals(podOf({ [field]: true }), [field]), [], "the provider gives it");
    }
    assert.match(offloadRefusals(podOf({ resourceClaims: [{ name: "gpu" }] })).join(), /resourceClaims/);
  });
});
