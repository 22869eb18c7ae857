import type { StatusOf } from "../kind.ts";
import type {
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
const provider = "nbswy3dpeb3w64tmmq5dembrge";
const signature = `${"Ab+/".repeat(21)}Ag==`;

function condition<const Type extends string, const Reason extends string>(type: Type, reason: Reason) {
  const lastTransitionTime = "2030-01-01T00:00:00Z";
  return { type, status: "True", reason, message: "", lastTransitionTime, observedGeneration: 1 } as const;
}

const site: StatusOf<typeof Site> = {
  id: consumer,
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  role: "Peer",
  published: {
    name: "lively-wave",
    tier: "edge",
    location: { region: "eu-north-1", latitude: 60.39, longitude: 5.32 },
    properties: { "example.com/gpu": "A100" },
    architectures: ["amd64", "arm64"],
    operatingSystems: ["linux"],
    loopbackRanges: ["127.88.0.0/16"],
    version: "0.1.0",
    kubernetesVersion: "v1.36.3",
  },
  reachableSince: "2030-01-01T00:00:00.123456Z",
  shared: { cpu: 8, memory: "16Gi" },
  free: { cpu: "7500m", memory: "0" },
  conditions: [condition("Ready", "Reachable"), condition("Reachable", "Tunnelled")],
};

const contract: StatusOf<typeof Contract> = {
  side: "Provider",
  phase: "Active",
  signatures: [
    { site: consumer, value: signature },
    { site: provider, value: signature },
  ],
  used: { cpu: "250m" },
  peerStanding: "Cordoned",
  peerLimit: { cpu: 2 },
  tenantNamespace: `fjord-tenant-${consumer}`,
  supersededBy: "8",
  conditions: [
    condition("Signed", "BothSigned"),
    condition("Active", "InForce"),
    condition("Expiring", "RenewalPending"),
    condition("Ended", "InForce"),
  ],
};

const peering: StatusOf<typeof Peering> = {
  siteId: provider,
  contract: "7",
  virtualNode: "wave-1",
  conditions: [
    condition("Paired", "Accepted"),
    condition("Agreed", "ContractActive"),
    condition("Realised", "NodeMade"),
    condition("Ready", "InService"),
  ],
};

const virtualNode: StatusOf<typeof VirtualNode> = {
  provider,
  allocated: { cpu: "1250m", pods: 3 },
  address: "10.0.0.1",
  conditions: [condition("Ready", "ProviderReady")],
};

const offloading: StatusOf<typeof Offloading> = {
  sites: [
    { site: consumer, twin: "shop-a", conditions: [condition("Ready", "TwinReady")] },
    { site: provider, twin: "shop-b", conditions: [condition("Ready", "NameTaken")] },
  ],
  conditions: [condition("Ready", "SomeTwinsNotReady")],
};

const offloadingRule: StatusOf<typeof OffloadingRule> = {
  matched: 3,
  offloaded: 2,
  conditions: [condition("Ready", "Applied")],
};

const twinNamespace: StatusOf<typeof TwinNamespace> = {
  namespace: "shop-remote",
  conditions: [condition("Ready", "NamespaceMade")],
};

const shadowPod: StatusOf<typeof ShadowPod> = {
  phase: "Running",
  podName: "web-0",
  podUid: "4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
  recreations: 2,
  conditions: [
    condition("Admitted", "WithinContract"),
    condition("Scheduled", "NodeChosen"),
    condition("Running", "Started"),
  ],
};

const addressPlan: StatusOf<typeof AddressPlan> = { conditions: [condition("Ready", "NamesKnown")] };

const link: StatusOf<typeof Link> = {
  carrier: "Userspace",
  endpoint: "10.0.0.1:51820",
  handshakeAt: "2030-01-01T00:00:00Z",
  receivedBytes: 1_000_000_000_000,
  sentBytes: 0,
  conditions: [condition("Ready", "HandshakeSeen")],
};

const exported: StatusOf<typeof Export> = {
  entries: [
    {
      name: "billing-db",
      addresses: ["252.0.0.7"],
      masquerade: true,
      ports: [{ name: "sql", protocol: "TCP", port: 5432, backends: [{ address: "192.168.7.20", port: 5432 }] }],
    },
  ],
  conditions: [condition("Ready", "Exported")],
};

const imported: StatusOf<typeof Import> = {
  siteId: provider,
  addresses: ["240.1.0.7", "fd66:6a6f::7"],
  ports: [{ protocol: "UDP", port: 53 }],
  conditions: [condition("Ready", "Imported")],
};

/** A whole status of each kind, as an agent would write it. */
export const reportedStatuses: Readonly<Record<string, object>> = {
  Site: site,
  Contract: contract,
  Peering: peering,
  VirtualNode: virtualNode,
  Offloading: offloading,
  OffloadingRule: offloadingRule,
  TwinNamespace: twinNamespace,
  ShadowPod: shadowPod,
  AddressPlan: addressPlan,
  Link: link,
  Export: exported,
  Import: imported,
};
