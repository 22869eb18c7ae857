import type { DraftOf } from "../kind.ts";
import {
  AddressPlan,
  Contract,
  Export,
  Import,
  Link,
  Offloading,
  OffloadingRule,
  Peering,
  ShadowPod,
  Site,
  TwinNamespace,
  VirtualNode,
} from "../kinds/index.ts";

const consumer = "mzxw6ytboi2dcmrtgq2tmnzyhe";

const site: DraftOf<typeof Site> = {
  metadata: { name: "full" },
  spec: {
    id: consumer,
    name: "Lively wave, Bergen",
    tier: "cloud",
    endpoints: ["https://wave.example", "https://10.0.0.1:7443/agent", "https://[2001:db8::1]:65535"],
    location: { region: "eu-north-1", zone: "a", latitude: 60.39, longitude: -5.32 },
    properties: {
      [`${"a.".repeat(126)}b/gpu`]: "x",
      "example.com/gpu": "A100",
      empty: "",
      "Mixed.Case_key": "v1.2_3-x",
    },
    sharing: {
      resources: { cpu: "7500m", memory: "16Gi", pods: 110, "nvidia.com/gpu": "0", "ephemeral-storage": "1e12" },
      perConsumer: { memory: "0.5Gi" },
      consumers: { accept: "Listed", sites: [consumer] },
      contractLifetime: "1h30m0.5s",
      enforcement: "LimitsEqualRequests",
      objects: { ingressHosts: ["shop.example.com", "*.tenants.example.com", "*"] },
    },
    network: {
      podRanges: ["10.42.0.0/16", "fd00:42::/56"],
      names: ["100.64.0.0/10"],
      reserved: ["192.168.0.0/16"],
      endpoints: ["wave.example:51820", "[2001:db8::1]:1"],
      port: 51821,
      mtu: 1280,
    },
    reflection: [
      { resource: "configmaps", policy: "AllowList" },
      { group: "networking.k8s.io", resource: "ingresses", policy: "Never" },
      { group: "cert-manager.io", resource: "certificates", direction: "Both" },
      { group: "gateway.networking.k8s.io", resource: "httproutes", direction: "Outward" },
    ],
  },
};

const virtualNode = {
  labels: { "example.com/cost": "low" },
  taints: [
    { key: "metered", value: "yes", effect: "NoSchedule" },
    { key: "metered", effect: "NoExecute" },
  ],
  podPatch: {
    metadata: { labels: { guest: "yes" } },
    spec: { nodeSelector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] },
  },
  unreachableAfter: "750ms",
} as const;

const peering: DraftOf<typeof Peering> = {
  metadata: { name: "full" },
  spec: {
    site: "wave.example",
    resources: { cpu: 1 },
    pairingSecret: "token",
    renew: false,
    link: true,
    virtualNode: { name: "wave-1", ...virtualNode, taints: [...virtualNode.taints] },
  },
};

const contract: DraftOf<typeof Contract> = {
  metadata: { name: "7" },
  spec: {
    terms: {
      id: "7",
      consumer,
      provider: "nbswy3dpeb3w64tmmq5dembrge",
      resources: { cpu: "500m" },
      properties: { "fjord.dev/tier": "edge" },
      notBefore: "2030-01-01T01:00:00.250+01:00",
      notAfter: "2030-01-01T00:00:01Z",
      enforcement: "RequestsRequired",
      supersedes: "c-7f3kq2",
    },
    standing: "Cordoned",
  },
};

const offloading = {
  pods: "Remote",
  sites: {
    matchLabels: { "topology.kubernetes.io/region": "eu-north-1" },
    matchExpressions: [
      { key: "fjord.dev/tier", operator: "In", values: ["edge", "cloud"] },
      { key: "slow", operator: "NotIn", values: ["yes"] },
      { key: "gpu", operator: "Exists" },
      { key: "old", operator: "DoesNotExist" },
    ],
  },
  reflection: [{ resource: "secrets", policy: "AllowList" }],
} as const;

/** Everything that can be said of each kind, said at once: an API server takes it and gives it back. */
export const acceptedObjects = [
  { kind: Site, draft: site },
  { kind: Peering, draft: peering },
  { kind: Contract, draft: contract },
  { kind: VirtualNode, draft: { metadata: { name: "full" }, spec: { contract: "7", ...virtualNode } } },
  {
    kind: Offloading,
    draft: {
      metadata: { name: "offloading", namespace: "kube-system" },
      spec: {
        ...offloading,
        naming: { strategy: "Chosen", name: "shop-remote" },
        whenUnreachable: { action: "Evict", after: "30s" },
      },
    },
  },
  {
    kind: OffloadingRule,
    draft: {
      metadata: { name: "all" },
      spec: {
        namespaceSelector: {},
        template: { ...offloading, naming: { strategy: "Same" }, whenUnreachable: { action: "Keep" } },
      },
    },
  },
  {
    kind: TwinNamespace,
    draft: {
      metadata: { name: "n".repeat(63), namespace: "default" },
      spec: { originNamespace: "n".repeat(63), wantedName: "n".repeat(63) },
    },
  },
  {
    kind: ShadowPod,
    draft: {
      metadata: { name: "full", namespace: "default" },
      spec: {
        contract: "7",
        originUid: "4F9D0E5A",
        pod: {
          metadata: {
            labels: { app: "web" },
            annotations: { "example.com/note": "any text: at all", "Example.COM/Note": "" },
          },
          spec: {
            containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }] }],
            volumes: [],
            x: { y: 1 },
          },
        },
        recreate: "Never",
      },
    },
  },
  {
    kind: AddressPlan,
    draft: {
      metadata: { name: "nbswy3dpeb3w64tmmq5dembrge" },
      spec: {
        site: "nbswy3dpeb3w64tmmq5dembrge",
        own: [{ range: "10.42.0.0/16" }, { range: "fd00:42::/56", called: "fd00:42::/56" }],
        peer: [{ range: "10.43.0.0/16", called: "240.0.0.0/16" }, { range: "10.44.0.0/16" }],
      },
    },
  },
  {
    kind: Link,
    draft: {
      metadata: { name: "nbswy3dpeb3w64tmmq5dembrge" },
      spec: {
        site: "nbswy3dpeb3w64tmmq5dembrge",
        publicKey: `${"Ab+/".repeat(10)}Abc=`,
        endpoints: ["[2001:db8::1]:51820", "10.0.0.1:65535"],
        keepaliveSeconds: 25,
        groups: [{ name: "shop", local: ["10.42.0.7", "fd00:42::7"], remote: ["240.0.0.0/16"] }],
      },
    },
  },
  {
    kind: Export,
    draft: {
      metadata: { name: "full" },
      spec: {
        sites: ["harbor", "wave.example"],
        host: {
          address: "fd00:7::20",
          masquerade: false,
          ports: [
            { name: "dns", protocol: "UDP", port: 53 },
            { name: "dns-tcp", port: 65535 },
          ],
        },
      },
    },
  },
  {
    kind: Export,
    draft: {
      metadata: { name: "services" },
      spec: {
        sites: ["harbor"],
        services: {
          namespaceSelector: offloading.sites,
          selector: { matchLabels: { "example.com/export": "yes" } },
        },
      },
    },
  },
  {
    kind: Import,
    draft: {
      metadata: { name: "full", namespace: "kube-system" },
      spec: { site: "wave.example", export: "shop/web", service: false },
    },
  },
] as const;
