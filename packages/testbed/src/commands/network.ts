import type { Command } from "commander";
import type { NetworkControl } from "../network/network.ts";
import { openBed } from "../open-bed.ts";
import { type CommandContext, type CommonOptions, type OutputFormat, outputOption } from "./context.ts";
import { formatRate, parseDuration, parseRate } from "./quantities.ts";
import { megabytes, table } from "./table.ts";

const oneWay = ["--one-way", "only from the first site to the second"] as const;

export function addNetwork(program: Command, context: CommandContext): void {
  const between = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .argument("<from>", "a site")
      .argument("<to>", "another site")
      .option(...oneWay);

  between("cut", "let no byte pass between two sites; connections stay open and silent")
    .option("--reset", "reset connections and refuse new ones instead")
    .action(async (from: string, to: string, options: { oneWay?: boolean; reset?: boolean }, command: Command) => {
      await (await network(command)).cut(from, to, options);
    });
  between("heal", "take back a cut; what was sent meanwhile arrives").action(
    async (from: string, to: string, options: { oneWay?: boolean }, command: Command) => {
      await (await network(command)).heal(from, to, options);
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
        await (await network(command)).shape(from, to, { latency, jitter: options.jitter ?? 0 }, options);
      },
    );
  between("bandwidth", "limit how much passes between two sites, each way")
    .argument("<rate>", "a second, such as 10Mbit, 500kB or unlimited", parseRate)
    .action(async (from: string, to: string, bandwidth: number, options: { oneWay?: boolean }, command: Command) => {
      await (await network(command)).shape(from, to, { bandwidth }, options);
    });
  program
    .command("expose")
    .description("make an address of one site reachable from another; prints where")
    .argument("<from>", "the site that calls")
    .argument("<to>", "the site that is called")
    .argument("<host:port>", "what is called")
    .action(async (from: string, to: string, target: string, _, command: Command) => {
      const colon = target.lastIndexOf(":");
      const endpoint = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
      if (colon < 1 || !Number.isInteger(endpoint.port)) command.error(`error: ${target} is not HOST:PORT`);
      const { host, port } = await (await network(command)).expose(from, to, endpoint);
      context.out(`${host}:${port}`);
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
      if (options.output === "json") return context.out(JSON.stringify(lanes, undefined, 2));
      context.out(
        table(
          ["FROM", "TO", "STATE", "LATENCY", "JITTER", "BANDWIDTH", "ARRIVED", "CONNECTIONS"],
          lanes.map((lane) => [
            lane.from,
            lane.to,
            lane.state,
            `${lane.latency} ms`,
            `${lane.jitter} ms`,
            formatRate(lane.bandwidth),
            megabytes(lane.delivered),
            `${lane.connections}`,
          ]),
        ),
      );
    });
}

async function network(command: Command): Promise<NetworkControl> {
  return (await openBed(command.optsWithGlobals<CommonOptions>().directory)).network;
}
