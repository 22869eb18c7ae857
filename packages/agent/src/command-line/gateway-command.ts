import { readFile } from "node:fs/promises";
import { AGENT_NAMESPACE } from "@fjord/api";
import { steadyNow } from "@fjord/base";
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
  NodeNetwork,
  NodeWatch,
  NodeWay,
  OwnKey,
  openUdpProbe,
  type WireguardChoice,
} from "@fjord/continuum/gateway";
import { HealthChecks, KubeClient, loadClusterConfig, Registry, SharedCaches } from "@fjord/kube";
import { type Command, Option } from "commander";
import { CaptureAccess } from "../capture-access.ts";
import { HealthServer } from "../health-server.ts";
import type { CommandContext } from "./command-context.ts";
import { InvalidAgentOption } from "./errors.ts";
import { listenOption } from "./option-values.ts";

interface GatewayFlags {
  interface: string;
}

interface RunFlags extends GatewayFlags {
  wireguard: WireguardChoice;
  wireguardGo: string;
  kubeconfig?: string;
  context?: string;
  namespace: string;
  node?: string;
  role: "gateway" | "node";
  tunnel: boolean;
  endpoint: string[];
  state?: string;
  key?: string;
  metricsListen: string;
  removeAtEnd: boolean;
}

export function addGateway(program: Command, context: CommandContext): void {
  const gateway = program
    .command("gateway")
    .description("carry the links of a site on this node: WireGuard, routes and firewall (root)");
  const command = (name: string, description: string) =>
    gateway
      .command(name)
      .description(description)
      .option("--interface <prefix>", "what WireGuard's interfaces are called, before their number", "fjord");
  command("run", "keep the node's network at what AddressPlans and Links say, until interrupted; what is made stays")
    .option(
      "--kubeconfig <file>",
      "how to reach the site's own API (default: as kubectl does, or the pod's own cluster)",
    )
    .option("--context <name>", "context of the kubeconfig")
    .option("--namespace <name>", "where the agent keeps its own objects", AGENT_NAMESPACE)
    .option(
      "--node <name>",
      "this Node's name, where other nodes of the site run this too: one of them carries the links",
    )
    .addOption(
      new Option("--role <role>", "with --node: `gateway` may carry links, `node` only leads its pods to who does")
        .choices(["gateway", "node"])
        .default("gateway"),
    )
    .option("--endpoint <host:port...>", "with --node: where peers reach this node, over UDP", [])
    .option("--tunnel", "with --node: reach the gateway by VXLAN though it is a neighbour", false)
    .option("--state <file>", "what shall be, as JSON, in the place of an API; read again every second")
    .option("--key <file>", "with --state: the private key of WireGuard, in base64")
    .option("--metrics-listen <host:port>", "where /healthz, /readyz and /metrics are served", "127.0.0.1:7448")
    .option("--remove-at-end", "take everything away when interrupted, as `gateway remove` does", false)
    .addOption(
      new Option("--wireguard <sort>", "what encrypts: the kernel where it can (`auto`), `kernel` alone, or a program")
        .choices(["auto", "kernel", "userspace"])
        .default("auto"),
    )
    .option("--wireguard-go <program>", "WireGuard as a program", "wireguard-go")
    .action((flags: RunFlags) => run(flags, context));
  command("remove", "take away every interface, route, rule and firewall of links").action(
    async (flags: GatewayFlags) => {
      await removeAll(partsOf(flags, context));
    },
  );
}

async function removeAll({ gateway, captures, way, fence }: ReturnType<typeof partsOf>): Promise<void> {
  await captures.remove();
  await gateway.remove();
  await way.remove();
  await fence.remove();
}

async function run(flags: RunFlags, context: CommandContext): Promise<void> {
  try {
    await keep(flags, context);
  } finally {
    if (flags.removeAtEnd && context.signal.aborted) await removeAll(partsOf(flags, context));
  }
}

async function keep(flags: RunFlags, context: CommandContext): Promise<void> {
  const { state, key } = flags;
  if (state === undefined) return await runByApi(flags, context);
  if (key === undefined)
    throw new InvalidAgentOption({ option: "--key", value: "left out", reason: "--state needs it" });
  const { gateway, captures, watch } = partsOf(flags, context);
  await runLoop({ parts: { gateway, captures, watch }, source: new FileSource({ state, key }) }, flags, context);
}

interface Kept {
  readonly parts: Pick<GatewayLoopOptions, "gateway" | "way" | "fence" | "watch"> & { readonly captures: Captures };
  readonly source: GatewaySource & { nameOf?(siteId: string): string | undefined };
  readonly told?: GatewayLoopOptions["told"];
  readonly ownKey?: OwnKey;
  /** Who may look at packets. @default nobody */
  readonly access?: CaptureAccess;
}

/** With probes, and metrics of what they and the gateway see. */
async function runLoop(kept: Kept, flags: RunFlags, context: CommandContext): Promise<void> {
  const { parts, source, told, ownKey, access } = kept;
  const { clock, logger, signal } = context;
  const listen = listenOption("--metrics-listen", flags.metricsListen);
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
  const server = new HealthServer({ listen, health, ready, metrics: registry, logger, ...(routes && { routes }) });
  await Promise.all([loop.run(signal), server.run(signal)]);
  // Who looks at packets does not outlive this process, though links do.
  await captures.remove();
}

async function runByApi(flags: RunFlags, context: CommandContext): Promise<void> {
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

function partsOf(flags: GatewayFlags & Partial<RunFlags>, { clock, logger }: CommandContext) {
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
