import { type Command, InvalidArgumentError } from "commander";
import type { LaneStatus, NetworkControl } from "../network/network.ts";
import type { Endpoint } from "../network/relay.ts";
import { openBed } from "../open-bed.ts";
import { type CommandContext, type CommonOptions, type OutputFormat, outputOption } from "./context.ts";
import { formatBytes, formatRate, parseDuration, parseRate } from "./quantities.ts";
import { table } from "./table.ts";

const oneWay = ["--one-way", "only from the first site to the second"] as const;

export function addNetwork(program: Command, context: CommandContext): void {
  const between = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .argument("<from>", "a site")
      .argument("<to>", "another site")
      .option(...oneWay);
  const say = (what: string, from: string, to: string, options: { oneWay?: boolean }, state: string) =>
    context.progress(`${what} ${options.oneWay ? `from ${from} to` : `between ${from} and`} ${to} ${state}`);

  between("cut", "let no byte pass between two sites; connections stay open and silent")
    .option("--reset", "reset connections and refuse new ones instead")
    .action(async (from: string, to: string, options: { oneWay?: boolean; reset?: boolean }, command: Command) => {
      await (await network(command)).cut(from, to, options);
      say("The network", from, to, options, options.reset ? "resets and refuses connections" : "is cut");
    });
  between("heal", "take back a cut; what was sent meanwhile arrives").action(
    async (from: string, to: string, options: { oneWay?: boolean }, command: Command) => {
      await (await network(command)).heal(from, to, options);
      say("The network", from, to, options, "is whole");
    },
  );
  between("latency", "delay every byte between two sites, each way")
    .argument("<delay>", "such as 50ms", parseDuration)
    .option("--jitter <delay>", "up to this much more, at random", parseDuration)
    .action(
      async (
        from: string,
        to: string,
        latency: number,
        options: { oneWay?: boolean; jitter?: number },
        command: Command,
      ) => {
        const { jitter = 0 } = options;
        await (await network(command)).shape(from, to, { latency, jitter }, options);
        say(
          "The latency",
          from,
          to,
          options,
          `is ${latency} ms${jitter > 0 ? ` and up to ${jitter} ms more` : ""}${options.oneWay ? "" : " each way"}`,
        );
      },
    );
  between("bandwidth", "limit how much passes between two sites, each way")
    .argument("<rate>", "a second, such as 10Mbit, 500kB or unlimited", parseRate)
    .action(async (from: string, to: string, bandwidth: number, options: { oneWay?: boolean }, command: Command) => {
      await (await network(command)).shape(from, to, { bandwidth }, options);
      say("The bandwidth", from, to, options, `is ${formatRate(bandwidth)}${options.oneWay ? "" : " each way"}`);
    });
  program
    .command("expose")
    .description("make an address of one site reachable from another; prints where")
    .argument("<from>", "the site that calls")
    .argument("<to>", "the site that is called")
    .argument("<host:port>", "what is called", parseEndpoint)
    .action(async (from: string, to: string, target: Endpoint, _, command: Command) => {
      context.out(formatEndpoint(await (await network(command)).expose(from, to, target)));
    });
  program
    .command("unexpose")
    .description("take back what `expose` did; connections made through it are reset")
    .argument("<from>", "the site that calls")
    .argument("<to>", "the site that is called")
    .argument("<host:port>", "what is called", parseEndpoint)
    .action(async (from: string, to: string, target: Endpoint, _, command: Command) => {
      const bed = await openBed(command.optsWithGlobals<CommonOptions>().directory);
      const api = bed.sites.find(({ layout }) => layout.name === to)?.layout;
      if (target.host === api?.address && target.port === api.ports.apiserver) {
        command.error(
          `error: ${formatEndpoint(target)} is the API server of ${to}, which stays reachable; see \`cut\``,
        );
      }
      await bed.network.unexpose(from, to, target);
      context.progress(`${formatEndpoint(target)} of ${to} is no longer exposed to ${from}`);
    });
  program
    .command("paths")
    .description("show what lies between the sites")
    .addOption(outputOption())
    .option("--reset", "first take back every cut, delay and limit")
    .action(async (options: { output: OutputFormat; reset?: boolean }, command: Command) => {
      const control = await network(command);
      if (options.reset) await control.reset();
      const lanes = await control.status();
      context.out(options.output === "json" ? JSON.stringify(lanes, undefined, 2) : describePaths(lanes));
    });
}

function describePaths(lanes: readonly LaneStatus[]): string {
  const paths = table(
    ["FROM", "TO", "STATE", "LATENCY", "JITTER", "BANDWIDTH", "ARRIVED", "CONNECTIONS"],
    lanes.map((lane) => [
      lane.from,
      lane.to,
      lane.state,
      `${lane.latency} ms`,
      `${lane.jitter} ms`,
      formatRate(lane.bandwidth),
      formatBytes(lane.delivered),
      `${lane.connections}`,
    ]),
  );
  const exposed = lanes.flatMap((lane) =>
    lane.exposed.map(({ address, target }) => [lane.from, lane.to, formatEndpoint(address), formatEndpoint(target)]),
  );
  return `${paths}\n\n${table(["FROM", "TO", "ADDRESS", "TARGET"], exposed)}`;
}

function parseEndpoint(text: string): Endpoint {
  const [, host, port] = /^(.+):(\d+)$/.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new InvalidArgumentError("It must be HOST:PORT.");
  }
  return { host, port: Number(port) };
}

function formatEndpoint({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}

async function network(command: Command): Promise<NetworkControl> {
  return (await openBed(command.optsWithGlobals<CommonOptions>().directory)).network;
}
