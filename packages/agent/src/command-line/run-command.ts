import { flushCompileCache } from "node:module";
import { AGENT_NAMESPACE, GUEST_PRIVILEGES, type GuestPrivilege } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { loadClusterConfig } from "@fjord/kube";
import { type Command, Option } from "commander";
import { SpareMemory } from "../spare-memory.ts";
import type { CommandContext } from "./command-context.ts";
import {
  addressOption,
  endpointOption,
  homeApiOption,
  labelOption,
  leaseOption,
  listenOption,
  nameOption,
  portOption,
  serviceOption,
} from "./option-values.ts";
import { addPageOptions, type PageFlags, pageSettings } from "./page-flags.ts";

interface RunFlags extends PageFlags {
  kubeconfig?: string;
  context?: string;
  namespace: string;
  siteName?: string;
  tier?: "cloud" | "edge" | "device";
  listen: string;
  endpoint: string[];
  internalAddress?: string;
  admissionPort: string;
  admissionService?: string;
  homeApi?: string;
  guestPrivilege: GuestPrivilege[];
  twinLabel: string[];
  metricsListen: string;
  leaderElect: boolean;
  leaderElectLeaseDuration: string;
}

const several = (value: string, before: string[]) => [...before, value];

export function addRun(program: Command, context: CommandContext): void {
  const command = program
    .command("run")
    .description("be the agent of a site until interrupted")
    .option(
      "--kubeconfig <file>",
      "how to reach the site's own API (default: as kubectl does, or the pod's own cluster)",
    )
    .option("--context <name>", "context of the kubeconfig")
    .option("--namespace <name>", "where the agent keeps its own objects", AGENT_NAMESPACE)
    .option(
      "--site-name <name>",
      "name of the own Site, such as lively-wave (default: the one it has, else one made of its id)",
    )
    .addOption(
      new Option("--tier <tier>", "what sort of place it is, where the own Site does not say").choices([
        "cloud",
        "edge",
        "device",
      ]),
    )
    .option("--listen <host:port>", "where other agents are served", "0.0.0.0:7443")
    .option(
      "--endpoint <url>",
      "where other agents reach this one, where the own Site does not say; several times. Without any it dials out",
      several,
      [],
    )
    .option("--internal-address <ip>", "where the own API server reaches the agent (default: the address towards it)")
    .option("--admission-port <port>", "port for the own API server's questions about new objects", "7444")
    .option(
      "--admission-service <name:port>",
      "Service in the agent's namespace by which the own API server reaches that port (default: the internal address)",
    )
    .option(
      "--home-api <host:port>",
      "where pods at other sites reach the own API, for those that ask for it (default: as the agent does, or as the API server announces)",
    )
    .option("--twin-label <key=value>", "label that namespaces of consumers get here; several times", several, [])
    .addOption(
      new Option("--guest-privilege <name...>", "what guests may have here that they may not otherwise; several times")
        .choices(GUEST_PRIVILEGES)
        .default([], "none"),
    )
    .option("--metrics-listen <host:port>", "where /healthz, /readyz and /metrics are served", "127.0.0.1:7445")
    .option("--leader-elect", "several agents run, and one of them leads", false)
    .option(
      "--leader-elect-lease-duration <duration>",
      "how long the others wait for a leader that has gone silent",
      "15s",
    );
  addPageOptions(command).action((flags: RunFlags) => run(flags, context));
}

async function run(flags: RunFlags, context: CommandContext): Promise<void> {
  const { env, home, signal, clock, random, logger } = context;
  const listen = listenOption("--listen", flags.listen);
  const metrics = listenOption("--metrics-listen", flags.metricsListen);
  const admissionPort = portOption("--admission-port", flags.admissionPort);
  const service =
    flags.admissionService === undefined ? undefined : serviceOption("--admission-service", flags.admissionService);
  const twinLabels = Object.fromEntries(flags.twinLabel.map((each) => labelOption("--twin-label", each)));
  const endpoints = flags.endpoint.map((each) => endpointOption("--endpoint", each));
  const siteName = flags.siteName === undefined ? undefined : nameOption("--site-name", flags.siteName);
  const address =
    flags.internalAddress === undefined ? undefined : addressOption("--internal-address", flags.internalAddress);
  const homeApi = flags.homeApi === undefined ? undefined : homeApiOption("--home-api", flags.homeApi);
  const leaseDurationMs = leaseOption("--leader-elect-lease-duration", flags.leaderElectLeaseDuration);
  const page = await pageSettings(flags);
  const config = await loadClusterConfig({
    env,
    home,
    clock,
    logger,
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    ...(flags.context !== undefined && { context: flags.context }),
  });
  const { Agent } = await import("../agent.ts");
  // Where compiled code is kept (NODE_COMPILE_CACHE), it is now: who is killed would else never have it at the next start.
  flushCompileCache();
  const agent = new Agent({
    config,
    namespace: flags.namespace,
    ...(siteName !== undefined && { siteName }),
    ...(flags.tier !== undefined && { tier: flags.tier }),
    ...(address !== undefined && { internalAddress: address }),
    listen,
    endpoints,
    admissionPort,
    ...(service !== undefined && { admissionService: service }),
    ...(homeApi !== undefined && { homeApi }),
    twinLabels,
    guestPrivileges: flags.guestPrivilege,
    metrics,
    ...(page !== undefined && { page }),
    leaderElect: flags.leaderElect,
    leaseDurationMs,
    clock,
    random,
    logger,
  });
  const over = new AbortController();
  const spare = spareMemory(clock)?.run(AbortSignal.any([signal, over.signal]));
  try {
    await agent.run(signal);
  } finally {
    over.abort();
    await spare;
  }
}

/** Where the process was started so that it can be told to let go of memory (cli.ts). */
function spareMemory(clock: Clock): SpareMemory | undefined {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  return new SpareMemory({
    residentBytes: () => process.memoryUsage.rss(),
    workedMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    },
    // Any other flavor collects, and keeps the pages.
    collect: () => void gc({ type: "major", execution: "sync", flavor: "last-resort" }),
    clock,
  });
}
