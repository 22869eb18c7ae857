import { AGENT_NAMESPACE } from "@fjord/api";
import { type Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type GatewayFlags, type GatewayRunFlags, SCRAPE_PORT } from "./gateway-flags.ts";

/** What a gateway is made of is loaded only by who is one: an agent has no use for it. */
const load = () => import("./run-gateway.ts");

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
    .option(
      "--scrape-address <address>",
      `address of this node where these are served to others too, at port ${SCRAPE_PORT}, without captures (default: none)`,
    )
    .option("--remove-at-end", "take everything away when interrupted, as `gateway remove` does", false)
    .addOption(
      new Option("--wireguard <sort>", "what encrypts: the kernel where it can (`auto`), `kernel` alone, or a program")
        .choices(["auto", "kernel", "userspace"])
        .default("auto"),
    )
    .option("--wireguard-go <program>", "WireGuard as a program", "wireguard-go")
    .action(async (flags: GatewayRunFlags) => (await load()).runGateway(flags, context));
  command("remove", "take away every interface, route, rule and firewall of links").action(
    async (flags: GatewayFlags) => (await load()).removeGateway(flags, context),
  );
}
