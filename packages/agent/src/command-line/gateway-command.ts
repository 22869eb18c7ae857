import { readFile } from "node:fs/promises";
import { AGENT_NAMESPACE } from "@fjord/api";
import {
  Gateway,
  GatewayLoop,
  GatewayObjects,
  type GatewaySource,
  LinkProbe,
  NodeNetwork,
  openUdpProbe,
  type SeenReport,
} from "@fjord/continuum/gateway";
import { KubeClient, loadClusterConfig, SharedCaches } from "@fjord/kube";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { InvalidAgentOption } from "./errors.ts";

interface GatewayFlags {
  interface: string;
}

interface RunFlags extends GatewayFlags {
  wireguardGo: string;
  kubeconfig?: string;
  context?: string;
  namespace: string;
  state?: string;
  key?: string;
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
    .option("--state <file>", "what shall be, as JSON, in the place of an API; read again every second")
    .option("--key <file>", "with --state: the private key of WireGuard, in base64")
    .option("--wireguard-go <program>", "WireGuard as a program", "wireguard-go")
    .action((flags: RunFlags) => run(flags, context));
  command("remove", "take away every interface, route, rule and firewall of links").action((flags: GatewayFlags) =>
    gatewayOf(flags, context).remove(),
  );
}

async function run(flags: RunFlags, context: CommandContext): Promise<void> {
  const { clock, logger, signal } = context;
  const gateway = gatewayOf(flags, context);
  const { state, key } = flags;
  if (state === undefined) return await runByApi(gateway, flags, context);
  if (key === undefined)
    throw new InvalidAgentOption({ option: "--key", value: "left out", reason: "--state needs it" });
  const probe = new LinkProbe({ open: openUdpProbe, clock, logger });
  await new GatewayLoop({ gateway, source: new FileSource({ state, key }), clock, logger, probe }).run(signal);
}

async function runByApi(gateway: Gateway, flags: RunFlags, context: CommandContext): Promise<void> {
  const { clock, random, logger, signal, env, home } = context;
  const { kubeconfig, context: name, namespace } = flags;
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
  const objects = new GatewayObjects({ client, caches, namespace, now: () => clock.now() });
  const watching = caches.run(signal);
  await caches.waitForSync(signal);
  const probe = new LinkProbe({ open: openUdpProbe, clock, logger });
  const told = (reports: readonly SeenReport[]) => objects.tell(reports);
  await new GatewayLoop({ gateway, source: objects, clock, logger, probe, told }).run(signal);
  await watching;
}

function gatewayOf(flags: GatewayFlags & Partial<RunFlags>, { clock, logger }: CommandContext): Gateway {
  if (!/^[a-z][a-z0-9-]{0,11}$/.test(flags.interface))
    throw new InvalidAgentOption({
      option: "--interface",
      value: flags.interface,
      reason: "it must be of at most 12 characters a-z, 0-9 and '-', such as fjord",
    });
  const { wireguardGo } = flags;
  const network = new NodeNetwork(wireguardGo === undefined ? {} : { wireguardProgram: wireguardGo });
  return new Gateway({ network, interfacePrefix: flags.interface, clock, logger });
}

/** A state and a key in files, which whoever writes them replaces by renaming. */
class FileSource implements GatewaySource {
  readonly #files: { readonly state: string; readonly key: string };

  constructor(files: { readonly state: string; readonly key: string }) {
    this.#files = files;
  }

  async read(): ReturnType<GatewaySource["read"]> {
    const [state, key] = await Promise.all([readFile(this.#files.state, "utf8"), readFile(this.#files.key, "utf8")]);
    return { state: JSON.parse(state), privateKey: key.trim() };
  }
}
