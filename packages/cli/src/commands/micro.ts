import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { PageSettings } from "@fjord/agent";
import { GUEST_PRIVILEGES, type GuestPrivilege } from "@fjord/api";
import { didYouMean, programLogger, RecentLog } from "@fjord/base";
import { type Command, Option } from "commander";
import type { CommandContext } from "../command-line/command-context.ts";
import { InvalidMicroOption } from "../errors.ts";

interface MicroFlags {
  name?: string;
  tier: "cloud" | "edge" | "device";
  stateDir?: string;
  address: string;
  apiPort: string;
  kubeletPort: string;
  peerPort: string;
  admissionPort: string;
  metricsPort: string;
  serviceRange: string;
  podRange?: string;
  pagePort: string;
  pageActions: boolean;
  pageDemo?: string;
  pageFiles?: string;
  serveDns?: string;
  endpoint: string[];
  dialOut: boolean;
  capacity: string[];
  label: string[];
  guestPrivilege: GuestPrivilege[];
}

const several = (value: string, before: string[]) => [...before, value];

export function addMicro(program: Command, context: CommandContext): void {
  const micro = program
    .command("micro")
    .description("a whole site on this machine, without Kubernetes: control plane, node and agent in one process");
  // What is no command would be taken for an argument of `run`, which may be left out.
  micro.hook("preSubcommand", () => {
    const [word = "-"] = micro.args;
    const names = micro.commands.map((command) => command.name());
    if (!word.startsWith("-") && !names.includes(word))
      micro.error(`error: unknown command 'micro ${word}'${didYouMean(word, names)}`);
  });
  micro
    .command("run", { isDefault: true })
    .description("run the site until interrupted; its pods go on running, and the next run finds them again")
    .option("--name <name>", "name of the site and its node (default: the machine's host name)")
    .addOption(
      new Option("--tier <tier>", "what sort of place it is").choices(["cloud", "edge", "device"]).default("edge"),
    )
    .option("--state-dir <path>", "where everything is kept (default: below the home directory, or /var/lib/fjord)")
    .option("--address <ip>", "where all of it listens, and other sites reach it", "127.0.0.1")
    .option("--api-port <port>", "port of the Kubernetes API", "6443")
    .option("--kubelet-port <port>", "port of the node", "10250")
    .option("--peer-port <port>", "port for agents of other sites", "7443")
    .option("--admission-port <port>", "port for the API's questions to the agent", "7444")
    .option("--metrics-port <port>", "port of the agent's /healthz, /readyz and /metrics", "7445")
    .option("--service-range <cidr>", "where Services get their addresses from, inside 127.0.0.0/8", "127.96.0.0/16")
    .option("--pod-range <cidr>", "where pods get theirs from, inside 127.0.0.0/8 (default: one that is free)")
    .option("--page-port <port>", "port of the site's page, on this machine alone; `off` for none", "7446")
    .option("--page-actions", "let viewers of the page change things, as far as RBAC lets them", false)
    .option("--page-demo <url>", "where a demo takes the wish to cut a site off: adds that to the page")
    .option("--page-files <folder>", "the built files of the page (default: beside the program)")
    .option("--serve-dns <address>", "serve the cluster's names there, at port 53; needs the rights to")
    .option("--endpoint <url>", "where other sites reach the agent (default: its address); several times", several, [])
    .option("--dial-out", "other sites cannot reach this one, as behind NAT: it has no endpoint, and dials them", false)
    .option("--capacity <resource=amount>", "what the node has, instead of the machine; several times", several, [])
    .option("--label <name=value>", "label of the node; several times", several, [])
    .addOption(
      new Option("--guest-privilege <name...>", "what guests may have beyond Kubernetes' baseline")
        .choices(GUEST_PRIVILEGES)
        .default([], "none"),
    )
    .action((flags: MicroFlags) => run(flags, context));
  micro
    .command("reset")
    .description("end the pods of a site that has been stopped, and remove everything it keeps")
    .option("--state-dir <path>", "the site's state directory (default: as for run)")
    .action((flags: Pick<MicroFlags, "stateDir">) => reset(flags, context));
}

async function run(flags: MicroFlags, context: CommandContext): Promise<void> {
  const began = performance.now();
  const name = flags.name ?? hostname().toLowerCase();
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw new InvalidMicroOption({ option: "--name", value: name, reason: "lower case letters, digits and dashes" });
  if (flags.dialOut && flags.endpoint.length > 0)
    throw new InvalidMicroOption({
      option: "--endpoint",
      value: flags.endpoint.join(", "),
      reason: "with --dial-out there is none",
    });
  const { checkMicroOptions } = await import("../micro/check-options.ts");
  checkMicroOptions(flags);
  const page = await pageOf(flags);
  const recent = new RecentLog();
  const write = (line: string) => {
    recent.add(line);
    process.stderr.write(line);
  };
  const { runMicroSite } = await import("../micro/index.ts");
  await runMicroSite(
    {
      ...context,
      isRoot: isRoot(),
      logger: programLogger({ env: context.env, stderr: { write } }),
      ownLog: () => recent.text,
      name,
      tier: flags.tier,
      stateDirectory: stateDirectoryOf(flags, context),
      address: flags.address,
      ports: {
        api: portOf("--api-port", flags.apiPort),
        kubelet: portOf("--kubelet-port", flags.kubeletPort),
        peers: portOf("--peer-port", flags.peerPort),
        admission: portOf("--admission-port", flags.admissionPort),
        metrics: portOf("--metrics-port", flags.metricsPort),
      },
      serviceRange: flags.serviceRange,
      ...(flags.podRange !== undefined && { podRange: flags.podRange }),
      ...(page !== undefined && { page }),
      ...(flags.serveDns !== undefined && { dns: flags.serveDns }),
      ...((flags.dialOut || flags.endpoint.length > 0) && { endpoints: flags.endpoint }),
      capacity: flags.capacity,
      labels: flags.label,
      guestPrivileges: flags.guestPrivilege,
    },
    {
      signal: context.signal,
      serves: ({ server, kubeconfig }) => {
        const seconds = ((performance.now() - began) / 1000).toFixed(1);
        const served = `${name} serves at ${server} after ${seconds} s.\n\n`;
        // In one piece: whoever reads it from a pipe has all of it, or nothing.
        context.print(`${served}  export KUBECONFIG=${kubeconfig}\n  kubectl get nodes\n  fjord status\n`);
      },
    },
  ).catch((error: unknown) => {
    // Asked to stop while it was still starting: it has.
    if (!context.signal.aborted) throw error;
  });
}

async function reset(flags: Pick<MicroFlags, "stateDir">, context: CommandContext): Promise<void> {
  const { resetMicroSite } = await import("../micro/index.ts");
  await resetMicroSite(stateDirectoryOf(flags, context), { ...context, isRoot: isRoot() });
}

function stateDirectoryOf({ stateDir }: Pick<MicroFlags, "stateDir">, { home }: CommandContext): string {
  if (stateDir === "") throw new InvalidMicroOption({ option: "--state-dir", value: stateDir, reason: "is empty" });
  return resolve(stateDir ?? (isRoot() ? "/var/lib/fjord" : join(home, ".local", "share", "fjord", "site")));
}

/** In the clear, and therefore on loopback, wherever the rest of the site is reached. */
async function pageOf(flags: MicroFlags): Promise<PageSettings | undefined> {
  const { address, pagePort, pageActions, pageDemo, pageFiles } = flags;
  const port = pagePort === "off" ? pagePort : portOf("--page-port", pagePort);
  const { isLoopback, pageSettings } = await import("@fjord/agent/page-flags");
  return await pageSettings({
    pageListen: port === "off" ? port : `${isLoopback(address) ? address : "127.0.0.1"}:${port}`,
    pageActions,
    pageHost: [],
    ...(pageDemo !== undefined && { pageDemo }),
    ...(pageFiles !== undefined && { pageFiles }),
  });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function portOf(option: string, value: string): number {
  const port = Number(value);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new InvalidMicroOption({ option, value, reason: "a port is a number from 1 to 65535" });
}
