import { Counter, Gauge, Histogram, type Registry } from "@fjord/kube";
import { type DeniedPackets, NONE_DENIED } from "../fabric/denied-packets.ts";
import { isAlive } from "../link-status.ts";
import { LinkLife } from "./link-life.ts";
import type { SeenReport } from "./link-report.ts";
import type { LoopObserver } from "./loop-observer.ts";

export interface GatewayMetricsOptions {
  readonly registry: Registry;
  now(): number;
  /** What a site is called here. @default its id */
  readonly nameOf?: (siteId: string) => string | undefined;
  /** How often packets are captured now. @default never */
  readonly captures?: () => number;
}

/** What a gateway tells at /metrics: its links, by the names of peers, and whether the node is as it shall be. */
export class GatewayMetrics implements LoopObserver {
  readonly #nameOf: (siteId: string) => string;
  readonly #latency: Histogram<"site">;
  readonly #received: Counter<"site">;
  readonly #sent: Counter<"site">;
  readonly #drift: Counter;
  readonly #deniedPackets: Counter<"direction">;
  readonly #beyondPackets: Counter;
  #denied: DeniedPackets = { ...NONE_DENIED, beyond: 0 };
  #links: readonly SeenReport[] = [];
  readonly #lives = new Map<string, LinkLife>();
  #silent: ReadonlySet<string> = new Set();
  readonly #now: () => number;
  #lanes: readonly number[] = [];
  #isApplied = false;
  #keyMadeAt: number | undefined;

  constructor({ registry, now, nameOf, captures = () => 0 }: GatewayMetricsOptions) {
    const registers = [registry];
    this.#now = now;
    this.#nameOf = (siteId) => nameOf?.(siteId) ?? siteId;
    const ofLinks = (name: string, help: string, read: (link: SeenReport) => number | undefined) =>
      new Gauge({
        name,
        help,
        labelNames: ["site"] as const,
        registers,
        read: (gauge) => {
          for (const link of this.#links) {
            const value = read(link);
            if (value !== undefined) gauge.set({ site: this.#nameOf(link.siteId) }, value);
          }
        },
      });
    ofLinks("fjord_link_ready", "Whether the peer answers on a link", ({ siteId, fault, handshakeAt }) =>
      fault === undefined && isAlive(handshakeAt, now()) && !this.#silent.has(siteId) ? 1 : 0,
    );
    ofLinks("fjord_link_handshake_age_seconds", "Since a link's two ends last agreed on a key", ({ handshakeAt }) =>
      handshakeAt === undefined ? undefined : Math.max(0, (now() - handshakeAt) / 1000),
    );
    ofLinks("fjord_link_loss_ratio", "Of the last 20 probes of a link", ({ lossPercent }) =>
      lossPercent === undefined ? undefined : lossPercent / 100,
    );
    ofLinks("fjord_link_mtu_bytes", "The largest packet that came back over a link", ({ mtu }) => mtu);
    const bytes = (name: string, help: string) => new Counter({ name, help, labelNames: ["site"] as const, registers });
    this.#received = bytes("fjord_link_received_bytes_total", "Bytes that came over a link since the gateway started");
    this.#sent = bytes("fjord_link_sent_bytes_total", "Bytes that went over a link since the gateway started");
    this.#latency = new Histogram({
      name: "fjord_link_latency_seconds",
      help: "To a peer's gateway and back, over the link",
      labelNames: ["site"] as const,
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2],
      registers,
    });
    new Gauge({
      name: "fjord_gateway_applied",
      help: "Whether the node's network was brought to what the objects say",
      registers,
      read: (gauge) => gauge.set({}, this.#isApplied ? 1 : 0),
    });
    new Gauge({
      name: "fjord_gateway_captures",
      help: "How many look at packets of links now, by `fjord network capture`",
      registers,
      read: (gauge) => gauge.set({}, captures()),
    });
    new Gauge({
      name: "fjord_gateway_lane",
      help: "1 for each lane of the site's links that this node carries",
      labelNames: ["lane"] as const,
      registers,
      read: (gauge) => {
        for (const lane of this.#lanes) gauge.set({ lane: String(lane) }, 1);
      },
    });
    this.#drift = new Counter({
      name: "fjord_gateway_drift_total",
      help: "Things of the node's network that others had changed, and that were put back",
      registers,
    });
    this.#deniedPackets = new Counter({
      name: "fjord_gateway_denied_packets_total",
      help: "Packets of links that no group and no rule lets pass, and that were dropped: those that came (in), and those that were about to go (out); looked at every half minute",
      labelNames: ["direction"] as const,
      registers,
    });
    for (const direction of ["in", "out"]) this.#deniedPackets.inc({ direction }, 0);
    this.#beyondPackets = new Counter({
      name: "fjord_gateway_beyond_packets_total",
      help: "Packets of links that were dropped as they would have opened more connections than one peer may have on the node; looked at every half minute",
      registers,
    });
    new Gauge({
      name: "fjord_link_key_age_seconds",
      help: "How old the site's own WireGuard key is",
      labelNames: [] as const,
      registers,
      read: (gauge) => {
        if (this.#keyMadeAt !== undefined) gauge.set({}, (now() - this.#keyMadeAt) / 1000);
      },
    });
  }

  get isApplied(): boolean {
    return this.#isApplied;
  }

  answered(siteId: string, latencyMs: number): void {
    this.#latency.observe({ site: this.#nameOf(siteId) }, latencyMs / 1000);
  }

  brought(isApplied: boolean): void {
    this.#isApplied = isApplied;
  }

  drifted(count: number): void {
    this.#drift.inc({}, count);
  }

  denied(packets: DeniedPackets): void {
    for (const direction of ["in", "out"] as const)
      this.#deniedPackets.inc({ direction }, packets[direction] - this.#denied[direction]);
    this.#beyondPackets.inc({}, packets.beyond - this.#denied.beyond);
    this.#denied = packets;
  }

  carried(lanes: readonly number[]): void {
    this.#lanes = lanes;
  }

  linked(links: readonly SeenReport[]): void {
    const before = new Map(this.#links.map((link) => [link.siteId, link]));
    for (const { siteId, fault, receivedBytes, sentBytes } of links) {
      const labels = { site: this.#nameOf(siteId) };
      const last = before.get(siteId);
      if (fault !== undefined || last === undefined) continue;
      this.#received.inc(labels, grown(last.receivedBytes, receivedBytes));
      this.#sent.inc(labels, grown(last.sentBytes, sentBytes));
    }
    this.#links = links;
    this.#silent = new Set(links.filter((link) => this.#isSilent(link)).map(({ siteId }) => siteId));
    const known = new Set(links.map(({ siteId }) => siteId));
    for (const siteId of before.keys()) {
      if (known.has(siteId)) continue;
      this.#lives.delete(siteId);
      // Any number of sites may come and go that a consumer introduces.
      const labels = { site: this.#nameOf(siteId) };
      for (const metric of [this.#received, this.#sent, this.#latency]) metric.remove(labels);
    }
  }

  #isSilent({ siteId, signs, isTrying = false, receivedBytes }: SeenReport): boolean {
    if (signs === undefined) return false;
    const life = this.#lives.get(siteId) ?? new LinkLife();
    this.#lives.set(siteId, life);
    return life.isSilent({ ...signs, isTrying, receivedBytes, now: this.#now() }) === true;
  }

  keyMade(at: number | undefined): void {
    this.#keyMadeAt = at;
  }
}

/** WireGuard counts from the beginning where it was started anew. */
function grown(before: number, now: number): number {
  return now >= before ? now - before : now;
}
