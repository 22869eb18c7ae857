import { readFile } from "node:fs/promises";
import { describeError, steadyNow } from "@fjord/base";
import {
  CAPTURE_PATH,
  Captures,
  captureRoute,
  Fence,
  Gateway,
  GatewayLoop,
  type GatewayLoopOptions,
  GatewayMetrics,
  GatewayObjects,
  type GatewayPlace,
  GatewayRole,
  type GatewaySource,
  LinkProbe,
  NodeClaim,
  NodeNetwork,
  NodeWatch,
  NodeWay,
  OwnKey,
  openUdpProbe,
  UnansweredFlows,
} from "@fjord/continuum/gateway";
import { HealthChecks, KubeClient, loadClusterConfig, Registry, SharedCaches } from "@fjord/kube";
import { CaptureAccess } from "../capture-access.ts";
import { runWhenFree } from "../free-port.ts";
import { HealthServer } from "../health-server.ts";
import { OnlyGateway } from "../only-gateway.ts";
import type { CommandContext } from "./command-context.ts";
import { InvalidAgentOption } from "./errors.ts";
import { type GatewayFlags, type GatewayRunFlags, SCRAPE_PORT } from "./gateway-flags.ts";
import { addressOption, listenOption } from "./option-values.ts";

/** Keeps the node's network at what it shall be, until interrupted. */
export async function runGateway(flags: GatewayRunFlags, context: CommandContext): Promise<void> {
  const { clock, logger, signal } = context;
  const network = new NodeNetwork();
  await using only = await OnlyGateway.begin({ take: () => NodeClaim.take(network), clock, logger, signal });
  try {
    await keep(flags, { ...context, signal: AbortSignal.any([signal, only.lost]) });
    only.lost.throwIfAborted();
  } finally {
    if (flags.removeAtEnd && context.signal.aborted) await removeAll(partsOf(flags, context));
  }
}

export async function removeGateway(flags: GatewayFlags, context: CommandContext): Promise<void> {
  await removeAll(partsOf(flags, context));
}

async function removeAll({ gateway, captures, way, fence }: ReturnType<typeof partsOf>): Promise<void> {
  await captures.remove();
  await gateway.remove();
  await way.remove();
  await fence.remove();
}

async function keep(flags: GatewayRunFlags, context: CommandContext): Promise<void> {
  const { state, key } = flags;
  if (state === undefined) return await runByApi(flags, context);
  if (key === undefined)
    throw new InvalidAgentOption({ option: "--key", value: "left out", reason: "--state needs it" });
  const { gateway, captures, watch } = partsOf(flags, context);
  await runLoop({ parts: { gateway, captures, watch }, source: new FileSource({ state, key }) }, flags, context);
}

interface Kept {
  readonly parts: Pick<GatewayLoopOptions, "gateway" | "way" | "fence" | "unanswered" | "watch"> & {
    readonly captures: Captures;
  };
  readonly source: GatewaySource & { nameOf?(siteId: string): string | undefined };
  readonly told?: GatewayLoopOptions["told"];
  readonly ownKey?: OwnKey;
  /** Who may look at packets. @default nobody */
  readonly access?: CaptureAccess;
}

/** With probes, and metrics of what they and the gateway see. */
async function runLoop(kept: Kept, flags: GatewayRunFlags, context: CommandContext): Promise<void> {
  const { parts, source, told, ownKey, access } = kept;
  const { clock, logger, signal } = context;
  const listen = listenOption("--metrics-listen", flags.metricsListen);
  const { scrapeAddress } = flags;
  const others =
    scrapeAddress === undefined
      ? undefined
      : { host: addressOption("--scrape-address", scrapeAddress), port: SCRAPE_PORT };
  const registry = new Registry();
  const now = () => clock.now();
  const { captures } = parts;
  const nameOf = (siteId: string) => source.nameOf?.(siteId);
  const observer = new GatewayMetrics({ registry, now, nameOf, captures: () => captures.count });
  const answered = (siteId: string, ms: number) => observer.answered(siteId, ms);
  const probe = (lane: number) => new LinkProbe({ open: openUdpProbe, clock, logger, answered, lane });
  const [health, ready] = [new HealthChecks({ clock }), new HealthChecks({ clock })];
  ready.add("the node's network is as it shall be", () => {
    if (!observer.isApplied) throw new Error("not yet");
  });
  const beside = { ...(told && { told }), ...(ownKey && { ownKey }) };
  const loop = new GatewayLoop({ ...parts, source, clock, logger, probe, observer, ...beside });
  const route =
    access &&
    captureRoute({
      captures,
      whoMay: (code, siteId) => access.whoMay(code, siteId),
      nameOf,
      logger,
    });
  const routes = route && { [CAPTURE_PATH]: route };
  const served = { health, ready, metrics: registry, logger };
  const server = new HealthServer({ ...served, listen, ...(routes && { routes }) });
  const toOthers = others && new HealthServer({ ...served, listen: others });
  // Links do not wait for who counts them.
  const scraping = toOthers?.run(signal).catch((error: unknown) => {
    logger.warn("metrics are served to nobody else", { ...others, error: describeError(error) });
  });
  await Promise.all([loop.run(signal), runWhenFree(server, { clock, logger, signal }), scraping]);
  // Who looks at packets does not outlive this process, though links do.
  await captures.remove();
}

async function runByApi(flags: GatewayRunFlags, context: CommandContext): Promise<void> {
  const { clock, random, logger, signal, env, home } = context;
  const { kubeconfig, context: name, namespace, node } = flags;
  const config = await loadClusterConfig({
    env,
    clock,
    home,
    logger,
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(name !== undefined && { context: name }),
  });
  await using client = new KubeClient(config, { closeGraceMs: 2_000 });
  const caches = new SharedCaches({ client, clock, random, logger });
  const role =
    node === undefined || flags.role === "node"
      ? undefined
      : new GatewayRole({ client, namespace, node, clock, random, logger });
  const place: GatewayPlace | undefined =
    node === undefined ? undefined : { node, endpoints: flags.endpoint, ...(role && { role }) };
  const times = { now: () => clock.now(), steady: () => steadyNow(clock) };
  const objects = new GatewayObjects({ client, caches, namespace, ...times, ...(place && { place }) });
  const watching = caches.run(signal);
  await caches.waitForSync(signal);
  const parts = partsOf(flags, context);
  const told: GatewayLoopOptions["told"] = (reports) => objects.tell(reports);
  // What does not work is said when it is needed.
  if (place === undefined || role !== undefined) await parts.gateway.prepare().catch(() => {});
  // Peers are told by the agent which key comes next.
  const ownKey = new OwnKey({ gateway: parts.gateway, clock, logger });
  const access = new CaptureAccess({ client, clock });
  const kept = { parts, source: objects, told, ownKey, access };
  await Promise.all([runLoop(kept, flags, context), role?.run(signal), watching]);
}

function partsOf(flags: GatewayFlags & Partial<GatewayRunFlags>, { clock, logger }: CommandContext) {
  if (!/^[a-z][a-z0-9-]{0,11}$/.test(flags.interface))
    throw new InvalidAgentOption({
      option: "--interface",
      value: flags.interface,
      reason: "it must be of at most 12 characters a-z, 0-9 and '-', such as fjord",
    });
  const { wireguard, wireguardGo, interface: interfacePrefix, tunnel = false } = flags;
  const network = new NodeNetwork(wireguardGo === undefined ? {} : { wireguardProgram: wireguardGo });
  const gateway = new Gateway({ network, interfacePrefix, clock, logger, ...(wireguard && { wireguard }) });
  return {
    gateway,
    captures: new Captures({ network, linkOf: (siteId) => gateway.linkOf(siteId), clock, logger }),
    way: new NodeWay({ network, interfacePrefix, alwaysTunnel: tunnel, logger }),
    fence: new Fence({ network, interfacePrefix, clock, logger }),
    unanswered: new UnansweredFlows({ network, clock, logger }),
    watch: new NodeWatch({ network, interfacePrefix, clock, logger }),
  };
}

/** A state and a key in files, which whoever writes them replaces by renaming. */
class FileSource implements GatewaySource {
  readonly #files: { readonly state: string; readonly key: string };

  constructor(files: { readonly state: string; readonly key: string }) {
    this.#files = files;
  }

  async read(): ReturnType<GatewaySource["read"]> {
    const [state, key] = await Promise.all([readFile(this.#files.state, "utf8"), readFile(this.#files.key, "utf8")]);
    return { carries: { state: JSON.parse(state), privateKey: key.trim() } };
  }
}
