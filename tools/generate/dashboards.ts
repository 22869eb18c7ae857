// deploy/grafana/*.json: dashboards for Grafana, from lists of what each panel asks Prometheus.
interface Panel {
  readonly title: string;
  readonly about: string;
  readonly queries: Readonly<Record<string, string>>;
  readonly sort?: "timeseries" | "stat" | "table";
  readonly unit?: string;
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly about: string;
  readonly panels: readonly Panel[];
}

const dashboards: readonly Dashboard[] = [
  {
    uid: "fjord-fleet",
    title: "Fjord: fleet",
    about: "All sites: which there are, which answer, what they share.",
    panels: [
      {
        title: "Sites",
        about: "Agents that were scraped.",
        sort: "stat",
        queries: { sites: 'count(fjord_site_info{role="Self"})' },
      },
      {
        title: "Sites that are not ready",
        about: "As their own agents say.",
        sort: "stat",
        queries: { "not ready": 'count(fjord_site_ready{role="Self"} == 0) or vector(0)' },
      },
      {
        title: "Peers out of reach",
        about: "Pairs of sites of which one does not hear the other.",
        sort: "stat",
        queries: { pairs: 'count(fjord_site_ready{role="Peer"} == 0) or vector(0)' },
      },
      {
        title: "Guests",
        about: "Pods that run for another site.",
        sort: "stat",
        queries: { pods: 'sum(fjord_guest_pods{phase="Running"}) or vector(0)' },
      },
      {
        title: "Sites",
        about: "With tier and version.",
        sort: "table",
        queries: { sites: 'fjord_site_info{role="Self"}' },
      },
      {
        title: "Shared processors",
        about: "What sites share, and what of it is free.",
        unit: "none",
        queries: { "{{instance}} {{state}}": 'sum by (instance, state) (fjord_shared_amount{resource="cpu"})' },
      },
      {
        title: "Shared memory",
        about: "What sites share, and what of it is free.",
        unit: "bytes",
        queries: { "{{instance}} {{state}}": 'sum by (instance, state) (fjord_shared_amount{resource="memory"})' },
      },
      {
        title: "Memory of agents",
        about: "Resident.",
        unit: "bytes",
        queries: { "{{instance}}": 'process_resident_memory_bytes{job=~".*fjord.*"}' },
      },
    ],
  },
  {
    uid: "fjord-peering",
    title: "Fjord: peering",
    about: "Contracts, and the connections between agents.",
    panels: [
      {
        title: "Peerings that are ready",
        about: "1: pods can be placed.",
        queries: { "{{instance}} {{peering}}": "fjord_peering_ready" },
      },
      {
        title: "Peers that answer",
        about: "1: the site hears the other.",
        queries: { "{{instance}} {{site}}": 'fjord_site_ready{role="Peer"}' },
      },
      {
        title: "Contracts",
        about: "By side and phase.",
        queries: { "{{side}} {{phase}}": "sum by (side, phase) (fjord_contracts)" },
      },
      {
        title: "Processors under contract",
        about: "By the other site.",
        queries: { "{{instance}} {{side}} {{site}}": 'fjord_contract_amount{resource="cpu"}' },
      },
      {
        title: "Time until contracts end",
        about: "They are renewed well before.",
        unit: "s",
        queries: { "{{instance}} {{contract}}": "fjord_contract_end_timestamp_seconds - time()" },
      },
      { title: "Connections of peers", about: "Open now.", queries: { "{{instance}}": "fjord_peer_connections" } },
      {
        title: "Refused connections",
        about: "Per second, by reason.",
        unit: "cps",
        queries: { "{{instance}} {{reason}}": "rate(fjord_peer_connections_refused_total[5m])" },
      },
      {
        title: "Requests of peers, 99th percentile",
        about: "By route.",
        unit: "s",
        queries: {
          "{{route}}": "histogram_quantile(0.99, sum by (le, route) (rate(fjord_peer_request_seconds_bucket[5m])))",
        },
      },
      {
        title: "Requests of tenants",
        about: "Per second, by status.",
        unit: "reqps",
        queries: {
          "{{instance}} {{status}}": "sum by (instance, status) (rate(fjord_proxy_request_seconds_count[5m]))",
        },
      },
    ],
  },
  {
    uid: "fjord-offloading",
    title: "Fjord: offloading",
    about: "Virtual nodes, guests, twins, and the controllers that keep them.",
    panels: [
      { title: "Virtual nodes", about: "1: ready.", queries: { "{{instance}} {{node}}": "fjord_virtual_node_ready" } },
      {
        title: "Offloaded namespaces",
        about: "1: all twins are there.",
        queries: { "{{instance}} {{namespace}}": "fjord_offloading_ready" },
      },
      {
        title: "Guests",
        about: "Pods of other sites, by site and phase.",
        queries: { "{{instance}} {{site}} {{phase}}": "fjord_guest_pods" },
      },
      {
        title: "Twins written",
        about: "Per second, by resource.",
        unit: "wps",
        queries: { "{{resource}} {{action}}": "sum by (resource, action) (rate(fjord_reflection_items_total[5m]))" },
      },
      {
        title: "Twins that could not be written",
        about: "Per second, by reason.",
        unit: "wps",
        queries: { "{{resource}} {{reason}}": "sum by (resource, reason) (rate(fjord_reflection_errors_total[5m]))" },
      },
      {
        title: "Work that waits",
        about: "Depth of the queues.",
        queries: { "{{instance}} {{controller}}": "workqueue_depth" },
      },
      {
        title: "Errors of controllers",
        about: "Per second.",
        unit: "cps",
        queries: { "{{controller}}": "sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m]))" },
      },
    ],
  },
  {
    uid: "fjord-network",
    title: "Fjord: network",
    about: "Links between pods of sites: whether they answer, how fast, how much they carry.",
    panels: [
      {
        title: "Links",
        about: "Each gateway tells of those that it carries.",
        sort: "stat",
        queries: { links: "count(fjord_link_ready) or vector(0)" },
      },
      {
        title: "Links that are down",
        about: "Of which a gateway does not hear the peer.",
        sort: "stat",
        queries: { down: "count(fjord_link_ready == 0) or vector(0)" },
      },
      {
        title: "Gateways that lag behind",
        about: "Nodes whose network is not yet as it shall be.",
        sort: "stat",
        queries: { nodes: "count(fjord_gateway_applied == 0) or vector(0)" },
      },
      {
        title: "Captures",
        about: "How many look at packets now.",
        sort: "stat",
        queries: { captures: "sum(fjord_gateway_captures) or vector(0)" },
      },
      {
        title: "Links that answer",
        about: "1: the peer is heard.",
        queries: { "{{instance}} {{site}}": "fjord_link_ready" },
      },
      {
        title: "Latency of links",
        about: "To the peer's gateway and back: of half of the probes, and of 99 in 100.",
        unit: "s",
        queries: Object.fromEntries(
          [0.5, 0.99].map((share) => [
            `{{instance}} {{site}} ${100 * share} %`,
            `histogram_quantile(${share}, sum by (le, instance, site) (rate(fjord_link_latency_seconds_bucket[5m])))`,
          ]),
        ),
      },
      {
        title: "Received over links",
        about: "By peer.",
        unit: "Bps",
        queries: { "{{instance}} {{site}}": "rate(fjord_link_received_bytes_total[5m])" },
      },
      {
        title: "Sent over links",
        about: "By peer.",
        unit: "Bps",
        queries: { "{{instance}} {{site}}": "rate(fjord_link_sent_bytes_total[5m])" },
      },
      {
        title: "Lost probes",
        about: "Of the last 20.",
        unit: "percentunit",
        queries: { "{{instance}} {{site}}": "fjord_link_loss_ratio" },
      },
      {
        title: "Largest packet",
        about: "That came back over a link.",
        unit: "bytes",
        queries: { "{{instance}} {{site}}": "fjord_link_mtu_bytes" },
      },
      {
        title: "Lanes by node",
        about: "How many a node carries.",
        queries: { "{{instance}}": "sum by (instance) (fjord_gateway_lane)" },
      },
      {
        title: "What others changed of nodes",
        about: "And was put back, in an hour.",
        queries: { "{{instance}}": "increase(fjord_gateway_drift_total[1h])" },
      },
      {
        title: "Packets of links that were dropped",
        about: "Per second: no group and no rule lets them pass.",
        queries: { "{{instance}} {{direction}}": "rate(fjord_gateway_denied_packets_total[5m])" },
      },
      {
        title: "Carried by agents: bytes",
        about: "Where there are no gateways, or no UDP passes.",
        unit: "Bps",
        queries: {
          "{{instance}} {{site}} in": "rate(fjord_carried_received_bytes_total[5m])",
          "{{instance}} {{site}} out": "rate(fjord_carried_sent_bytes_total[5m])",
          "{{instance}} {{site}} packets in": "rate(fjord_link_tcp_received_bytes_total[5m])",
          "{{instance}} {{site}} packets out": "rate(fjord_link_tcp_sent_bytes_total[5m])",
        },
      },
      {
        title: "Carried by agents: refused",
        about: "Connections and flows per second, by reason.",
        unit: "cps",
        queries: { "{{instance}} {{site}} {{reason}}": "rate(fjord_carried_refused_total[5m])" },
      },
    ],
  },
];

export const dashboardDirectory = "deploy/grafana";

export function grafanaDashboards(): { path: string; text: string }[] {
  return dashboards.map((dashboard) => ({
    path: `${dashboardDirectory}/${dashboard.uid}.json`,
    text: `${JSON.stringify(grafana(dashboard), undefined, 2)}\n`,
  }));
}

/** Every expression that a dashboard asks Prometheus. */
export function expressions(): string[] {
  return dashboards.flatMap(({ panels }) => panels.flatMap(({ queries }) => Object.values(queries)));
}

function grafana({ uid, title, about, panels }: Dashboard): object {
  return {
    uid,
    title,
    description: about,
    tags: ["fjord"],
    schemaVersion: 39,
    timezone: "browser",
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus", label: "Prometheus", current: {}, hide: 0 },
      ],
    },
    panels: placed(panels),
  };
}

/** Figures in a row of four, pictures two by two. */
function placed(panels: readonly Panel[]): object[] {
  const stats = panels.filter(({ sort }) => sort === "stat");
  const others = panels.filter(({ sort }) => sort !== "stat");
  const top = stats.map((panel, index) => shape(panel, { h: 4, w: 6, x: 6 * (index % 4), y: 0 }));
  const below = stats.length === 0 ? 0 : 4;
  return [
    ...top,
    ...others.map((panel, index) =>
      shape(panel, { h: 8, w: 12, x: 12 * (index % 2), y: below + 8 * Math.floor(index / 2) }),
    ),
  ].map((panel, index) => ({ id: index + 1, ...panel }));
}

function shape({ title, about, queries, sort = "timeseries", unit = "short" }: Panel, gridPos: object): object {
  const datasource = { type: "prometheus", uid: `\${datasource}` };
  return {
    type: sort,
    title,
    description: about,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options:
      sort === "timeseries" ? { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } } : {},
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat,
      ...(sort === "table" && { format: "table", instant: true }),
    })),
  };
}
