import { CONSUMER_LABEL, Contract, Offloading, Peering, ShadowPod, Site, VirtualNode } from "@fjord/api";
import {
  Gauge,
  getCondition,
  inThousandths,
  Namespace,
  parseQuantity,
  type Registry,
  type SharedCaches,
} from "@fjord/kube";

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What of a site's state an operator wants to see over time, read from the caches whenever somebody asks. */
export function stateMetrics(registry: Registry, caches: Pick<SharedCaches, "open">): void {
  const sites = caches.open(Site).cache;
  const peerings = caches.open(Peering).cache;
  const contracts = caches.open(Contract).cache;
  const nodes = caches.open(VirtualNode).cache;
  const offloadings = caches.open(Offloading).cache;
  const shadows = caches.open(ShadowPod).cache;
  const twins = caches.open(Namespace, { labelSelector: CONSUMER_LABEL }).cache;
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => Iterable<Sample>) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      read(own) {
        for (const { labels, value } of read()) own.inc(labels, value);
      },
    });
  const siteName = (id: string | undefined) =>
    sites.list().find(({ spec, status }) => (status?.id ?? spec.id) === id)?.metadata.name ?? id ?? "";
  const isTrue = (conditions: Parameters<typeof getCondition>[0], type: string) =>
    getCondition(conditions, type)?.status === "True" ? 1 : 0;

  gauge("fjord_site_info", "The own site and those that it knows; always 1", ["site", "role", "tier", "version"], () =>
    sites.list().map(({ metadata, spec, status }) => ({
      labels: {
        site: metadata.name ?? "",
        role: status?.role ?? "",
        tier: status?.published?.tier ?? spec.tier ?? "",
        version: status?.published?.version ?? "",
      },
      value: 1,
    })),
  );
  // One that only consumes, and has no endpoint, cannot be reached and need not be.
  const onlyReachesOut = ({ metadata, spec, status }: Site) =>
    status?.role === "Peer" &&
    (spec.endpoints ?? []).length === 0 &&
    !peerings.list().some((peering) => peering.spec.site === metadata.name);
  gauge(
    "fjord_site_ready",
    "Whether a site can be used; not told of consumers that have no endpoint",
    ["site", "role"],
    () =>
      sites
        .list()
        .filter((site) => !onlyReachesOut(site))
        .map(({ metadata, status }) => ({
          labels: { site: metadata.name ?? "", role: status?.role ?? "" },
          value: isTrue(status?.conditions, "Ready"),
        })),
  );
  gauge("fjord_peering_ready", "Whether pods can be placed under a peering", ["peering", "site"], () =>
    peerings.list().map(({ metadata, spec, status }) => ({
      labels: { peering: metadata.name ?? "", site: spec.site },
      value: isTrue(status?.conditions, "Ready"),
    })),
  );
  gauge("fjord_contracts", "Contracts, by side, phase and standing", ["side", "phase", "standing"], () =>
    contracts.list().map(({ spec, status }) => ({
      labels: { side: status?.side ?? "", phase: status?.phase ?? "", standing: spec.standing },
      value: 1,
    })),
  );
  gauge(
    "fjord_contract_amount",
    "What contracts in force promise, in the resource's base unit, by the other site",
    ["side", "site", "resource"],
    () =>
      contracts
        .list()
        .filter(({ status }) => status?.phase === "Active")
        .flatMap(({ spec, status }) => {
          const { terms } = spec;
          const side = status?.side ?? "";
          const site = siteName(side === "Provider" ? terms.consumer : terms.provider);
          return Object.entries(terms.resources).map(([resource, amount]) => ({
            labels: { side, site, resource },
            value: amountOf(amount),
          }));
        }),
  );
  gauge(
    "fjord_contract_end_timestamp_seconds",
    "When contracts in force end unless they are renewed",
    ["side", "contract"],
    () =>
      contracts
        .list()
        .filter(({ status }) => status?.phase === "Active")
        .map(({ metadata, spec, status }) => ({
          labels: { side: status?.side ?? "", contract: metadata.name ?? "" },
          value: Date.parse(spec.terms.notAfter) / 1000,
        })),
  );
  gauge("fjord_virtual_node_ready", "Whether a virtual node takes pods", ["node", "site"], () =>
    nodes.list().map(({ metadata, status }) => ({
      labels: { node: metadata.name ?? "", site: siteName(status?.provider) },
      value: isTrue(status?.conditions, "Ready"),
    })),
  );
  gauge("fjord_offloading_ready", "Whether a namespace has all its twins", ["namespace"], () =>
    offloadings.list().map(({ metadata, status }) => ({
      labels: { namespace: metadata.namespace ?? "" },
      value: isTrue(status?.conditions, "Ready"),
    })),
  );
  gauge("fjord_guest_pods", "Pods of other sites here, by site and phase", ["site", "phase"], () =>
    shadows.list().map(({ metadata, status }) => {
      const twin = twins.get({ name: metadata.namespace ?? "" });
      const site = siteName(twin?.metadata.labels?.[CONSUMER_LABEL]);
      return { labels: { site, phase: status?.phase ?? "Pending" }, value: 1 };
    }),
  );
  gauge("fjord_shared_amount", "What the own site shares, and what of it is free", ["resource", "state"], () => {
    const own = sites.list().find(({ status }) => status?.role === "Self");
    const of = (state: string, amounts: Readonly<Record<string, string | number>> = {}) =>
      Object.entries(amounts).map(([resource, amount]) => ({ labels: { resource, state }, value: amountOf(amount) }));
    return [...of("shared", own?.status?.shared), ...of("free", own?.status?.free)];
  });
}

function amountOf(amount: string | number): number {
  return inThousandths(parseQuantity(amount)) / 1000;
}
