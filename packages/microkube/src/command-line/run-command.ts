import { flushCompileCache } from "node:module";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { aborted, type Logger, systemClock } from "@fjord/base";
import { type Command, InvalidArgumentError, Option } from "commander";
import { AuditIncomplete } from "../errors.ts";
import { parseIp, parseRange } from "../kinds/values/ip-address.ts";
import { type AuditOptions, startMicrokube } from "../microkube.ts";
import { collectAtRest, fullCollection, processorSeconds } from "./rest.ts";

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  readonly print: (text: string) => void;
}

interface RunFlags {
  dataDir: string;
  memory: boolean;
  address: string;
  advertiseAddress?: string;
  port: number;
  serverName: string[];
  serviceRange: string;
  podRange: string;
  survives: "process" | "machine";
  controllers: boolean;
  scheduler: boolean;
  auditPolicyFile?: string;
  auditLogPath?: string;
  auditLogMode: "blocking" | "batch";
}

const several = (value: string, before: string[]) => [...before, value];

function portOf(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new InvalidArgumentError("A port is a number from 0 to 65535; 0 takes any that is free.");
}

function ipOf(value: string): string {
  if (isIP(value) !== 0 && parseIp(value)?.value !== 0n) return value;
  throw new InvalidArgumentError("An address is written like 192.0.2.7 or 2001:db8::7.");
}

function rangeOf(value: string): string {
  if (parseRange(value) !== undefined) return value;
  throw new InvalidArgumentError("A range of addresses is written like 10.96.0.0/16.");
}

export function addRun(program: Command, context: CommandContext): void {
  program
    .command("run", { isDefault: true })
    .description("run a control plane on this machine, until interrupted")
    .option("--data-dir <path>", "where everything is kept", join(homedir(), ".local", "share", "microkube"))
    .addOption(new Option("--memory", "keep nothing: all is gone with the process").default(false).conflicts("dataDir"))
    .option("--address <address>", "where it listens", "127.0.0.1")
    .option("--advertise-address <ip>", "where pods find it (default: --address, or the machine's own address)", ipOf)
    .option("--port <number>", "its port; 0 takes any that is free", portOf, 6443)
    .option("--server-name <name>", "another name or address that clients reach it by; may be repeated", several, [])
    .option("--service-range <cidr>", "where Services get their addresses from", rangeOf, "10.96.0.0/16")
    .option("--pod-range <cidr>", "where nodes get the ranges of their pods from", rangeOf, "10.244.0.0/16")
    .addOption(
      new Option("--survives <what>", "what acknowledged writes survive: the loss of power costs speed")
        .choices(["process", "machine"])
        .default("process"),
    )
    .option("--no-controllers", "without the controllers of workloads and the rest")
    .option("--no-scheduler", "without a scheduler")
    .option("--audit-policy-file <path>", "a Policy of audit.k8s.io/v1: which requests are written down, and how")
    .option("--audit-log-path <path>", "where to, one line of JSON each; - for standard output")
    .addOption(
      new Option("--audit-log-mode <mode>", "blocking: before they are answered; batch: a second's at once")
        .choices(["blocking", "batch"])
        .default("blocking"),
    )
    .action((flags: RunFlags) => run(flags, context));
}

async function run(flags: RunFlags, { env, signal, logger, print }: CommandContext): Promise<void> {
  const began = performance.now();
  // npm goes to the root of the repository before it runs anything: what is meant is where its user stands.
  const fromHere = (path: string) => resolve(env.INIT_CWD ?? "", path);
  const audit = auditOptions(flags, fromHere);
  const {
    dataDir,
    memory,
    address,
    advertiseAddress,
    port,
    serverName,
    serviceRange,
    podRange,
    survives,
    controllers,
    scheduler,
  } = flags;
  await using microkube = await startMicrokube({
    // Whole, for the kubeconfig's path is shown to be used from elsewhere.
    ...(!memory && { dataDir: fromHere(dataDir) }),
    host: address,
    ...(advertiseAddress !== undefined && { advertiseAddress }),
    port,
    serverNames: serverName,
    serviceRanges: [serviceRange],
    podRanges: [podRange],
    survives,
    controllers,
    scheduler,
    ...(audit && { audit }),
    logger,
  });
  const seconds = ((performance.now() - began) / 1000).toFixed(2);
  print(`microkube serves at ${microkube.server} (ready in ${seconds} s).\n`);
  if (microkube.kubeconfigPath === undefined) print(microkube.kubeconfig);
  else print(`To use it:\n\n  export KUBECONFIG=${microkube.kubeconfigPath}\n  kubectl get namespaces\n`);
  const collect = fullCollection();
  // What a start has compiled is kept once there is time for it: who is killed would else never have it.
  const settle = () => {
    flushCompileCache();
    collect();
  };
  const stop = collectAtRest({ clock: systemClock, used: processorSeconds, collect: settle });
  await aborted(signal);
  stop();
}

function auditOptions(
  { auditPolicyFile, auditLogPath, auditLogMode }: RunFlags,
  fromHere: (path: string) => string,
): AuditOptions | undefined {
  if (auditPolicyFile === undefined && auditLogPath === undefined) return undefined;
  const [policy, log] = ["--audit-policy-file", "--audit-log-path"];
  if (auditPolicyFile === undefined) throw new AuditIncomplete({ given: log, missing: policy });
  if (auditLogPath === undefined) throw new AuditIncomplete({ given: policy, missing: log });
  const logPath = auditLogPath === "-" ? auditLogPath : fromHere(auditLogPath);
  return { policyFile: fromHere(auditPolicyFile), logPath, mode: auditLogMode };
}
