import { readFile } from "node:fs/promises";
import { Gateway, GatewayLoop, type GatewaySource, NodeNetwork } from "@fjord/continuum/gateway";
import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { InvalidAgentOption } from "./errors.ts";

interface GatewayFlags {
  interface: string;
}

interface RunFlags extends GatewayFlags {
  wireguardGo: string;
  state: string;
  key: string;
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
  command("run", "keep the node's network at what a file says, until interrupted; what is made stays")
    .requiredOption("--state <file>", "what shall be, as JSON; read again every second")
    .requiredOption("--key <file>", "the private key of WireGuard, in base64")
    .option("--wireguard-go <program>", "WireGuard as a program", "wireguard-go")
    .action((flags: RunFlags) => run(flags, context));
  command("remove", "take away every interface, route, rule and firewall of links").action((flags: GatewayFlags) =>
    gatewayOf(flags, context).remove(),
  );
}

async function run(flags: RunFlags, context: CommandContext): Promise<void> {
  const { clock, logger, signal } = context;
  const gateway = gatewayOf(flags, context);
  await new GatewayLoop({ gateway, source: new FileSource(flags), clock, logger }).run(signal);
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
  readonly #files: Pick<RunFlags, "state" | "key">;

  constructor(files: Pick<RunFlags, "state" | "key">) {
    this.#files = files;
  }

  async read(): ReturnType<GatewaySource["read"]> {
    const [state, key] = await Promise.all([readFile(this.#files.state, "utf8"), readFile(this.#files.key, "utf8")]);
    return { state: JSON.parse(state), privateKey: key.trim() };
  }
}
