import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describeError } from "@fjord/base";
import { loadClusterConfig } from "@fjord/kube";
import type { Command } from "commander";
import { type Part, runAll } from "../agent/run-all.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { noRules, parseRules, type Rules } from "../runtimes/simulated/index.ts";
import { InvalidNodeOption } from "./errors.ts";
import { fileOption } from "./file-option.ts";
import { countOption, nodeNameOption, resourcesOption } from "./option-values.ts";
import type { CommandContext } from "./run-command.ts";

interface SimulateFlags {
  nodes: string;
  rules?: string;
  kubeconfig?: string;
  name: string;
  podRange: string;
  nodeRange: string;
  capacity: string[];
  port?: string;
  tlsCert?: string;
  tlsKey?: string;
  parallel: string;
  qps?: string;
}

const several = (value: string, before: string[]) => [...before, value];
const MOST_NODES = 100_000;

export function addSimulate(program: Command, context: CommandContext): void {
  program
    .command("simulate")
    .description("be many nodes at once, whose pods run nothing and live by rules, until interrupted")
    .requiredOption("--nodes <count>", "how many nodes")
    .option("--rules <file>", "what becomes of nodes and pods, in YAML; read again on SIGHUP")
    .option("--kubeconfig <file>", "how to reach the API, with the rights of an administrator")
    .option("--name <name>", "name of the fleet; its nodes are NAME-1, NAME-2, ...", "simulated")
    .option("--pod-range <cidr>", "addresses of pods", "10.64.0.0/10")
    .option("--node-range <cidr>", "addresses of nodes; this machine has to be reached by them", "127.64.0.0/12")
    .option("--capacity <resource=amount>", "of each node, instead of 32 processors and 256Gi", several, [])
    .option("--port <number>", "serve the kubelet API (logs, usage) of all nodes on this port")
    .option("--tls-cert <file>", "its serving certificate, for all addresses (default: one that vouches for itself)")
    .option("--tls-key <file>", "key of that certificate")
    .option("--parallel <count>", "requests about pods under way at once", "24")
    .option("--qps <count>", "the most requests about pods in a second (default: no limit)")
    .action((flags: SimulateFlags) => simulate(flags, context));
}

async function simulate(flags: SimulateFlags, context: CommandContext): Promise<void> {
  const { env, signal, clock, random, logger } = context;
  const nodes = countOption("--nodes", flags.nodes, 0, MOST_NODES);
  const name = nodeNameOption("--name", flags.name);
  const capacity = resourcesOption("--capacity", flags.capacity);
  const parallelRequests = countOption("--parallel", flags.parallel, 1, 1_000);
  const kubeletPort = flags.port === undefined ? undefined : countOption("--port", flags.port, 1, 65_535);
  const requestsPerSecond = flags.qps === undefined ? undefined : countOption("--qps", flags.qps, 1, 1_000_000);
  const { kubeconfig } = flags;
  const config = await loadClusterConfig({ env, clock, logger, ...(kubeconfig !== undefined && { kubeconfig }) });
  const { Fleet } = await import("../fleet/fleet.ts");
  const { RestCollector } = await import("../fleet/rest-collector.ts");
  // Where compiled code is kept (NODE_COMPILE_CACHE), it is now: who is killed would else never have it at the next start.
  flushCompileCache();
  const fleet = new Fleet({
    config,
    name,
    nodes,
    rules: await readRules(flags.rules),
    podRange: flags.podRange,
    nodeRange: flags.nodeRange,
    capacity,
    parallelRequests,
    ...(kubeletPort !== undefined && { kubeletPort }),
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    clock,
    random,
    logger,
  });
  const reload = () =>
    void readRules(flags.rules)
      .then((rules) => fleet.follow(rules))
      .then(() => logger.info("the rules were read again"))
      .catch((error: unknown) => logger.error("going on with the old rules", { error: describeError(error) }));
  process.on("SIGHUP", reload);
  try {
    const served = kubeletPort === undefined ? undefined : await fleetServer(fleet, kubeletPort, flags, context);
    const collector = new RestCollector({ work: () => fleet.pods.requests, collect: collectGarbage(), clock });
    await runAll(served === undefined ? [fleet, collector] : [fleet, collector, served], signal);
  } finally {
    process.off("SIGHUP", reload);
  }
}

async function fleetServer(fleet: Fleet, port: number, flags: SimulateFlags, context: CommandContext): Promise<Part> {
  const { clock, logger } = context;
  const { tlsCert, tlsKey } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const reason = "a certificate and its key are given together or not at all";
    throw new InvalidNodeOption({ option: "--tls-cert", value: tlsCert ?? "", reason });
  }
  const tls =
    tlsCert !== undefined && tlsKey !== undefined
      ? { tls: { cert: await fileOption("--tls-cert", tlsCert), key: await fileOption("--tls-key", tlsKey) } }
      : {};
  const { FleetServer } = await import("../fleet/fleet-server.ts");
  return new FleetServer({ fleet, port, ...tls, clock, logger });
}

/** V8 gives pages back only when it is told that memory is scarce. */
function collectGarbage(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  return () => collect({ type: "major", execution: "sync", flavor: "last-resort" });
}

async function readRules(file: string | undefined): Promise<Rules> {
  return file === undefined ? noRules : parseRules(await fileOption("--rules", file), file);
}
