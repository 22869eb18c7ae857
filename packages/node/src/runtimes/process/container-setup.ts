import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { ContainerConfig, EnvironmentVariable, Mount, SandboxConfig } from "../../runtime/configuration.ts";
import { ProcessContainerUnfit } from "./errors.ts";
import { ifThere } from "./files.ts";
import { type MadeEntry, type MountPlan, parseMountInfo, planMounts } from "./mount-plan.ts";
import { gidFromPasswd, privilegesOf } from "./privileges.ts";
import { CONTAINER_MARK, POD_MARK } from "./process-table.ts";
import type { ContainerRecord } from "./records.ts";
import { enterScript, keeperScript, programScript } from "./scripts.ts";
import { CONTAINED, findTool, type MountNamespace, tool, unshareArguments } from "./tools.ts";

/** What this machine lets the runtime do. */
export interface MachineAbilities {
  readonly root: boolean;
  readonly namespace: MountNamespace;
  readonly bounding: bigint;
}

export interface SetupOptions {
  readonly id: string;
  readonly createdAt: number;
  readonly directory: string;
  readonly sandboxDirectory: string;
  readonly config: ContainerConfig;
  readonly pod: SandboxConfig;
  readonly address?: string;
  readonly cgroup?: string;
  /** Files to write 0 to. */
  readonly keeperGroups: readonly string[];
  readonly containerGroups: readonly string[];
  readonly abilities: MachineAbilities;
}

export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Where the working directory of the pod is mounted for those who can not reach it by its path. */
const REACHABLE_WORK = "/run/fjord/work";

/** Writes all that the keeper of a container needs, and gives its record, which is to be written last. */
export function setUpContainer(options: SetupOptions): ContainerRecord {
  const { config, pod, directory, abilities } = options;
  const command = [...config.command, ...config.args];
  if (config.command.length === 0) {
    const reason = "it names no command, and the process runtime runs programs of this machine, not of images";
    throw new ProcessContainerUnfit({ name: config.name, reason });
  }
  const privileges = privilegesOf(config.security, { ...abilities, gidOf: gidFromPasswd });
  const own = ownDirectory(options);
  // Only root can reach the pod's directory by its path.
  const apart = abilities.namespace === "root" && privileges.user !== undefined && privileges.user.uid !== 0;
  const work = config.workingDirectory || (apart ? REACHABLE_WORK : own);
  const privilegeWords =
    privileges.words.length === 0 ? [] : [tool("setpriv", "run as another user"), ...privileges.words];
  const environment = environmentOf(options, work);
  const mounts = allMounts(options);
  if (work === REACHABLE_WORK) mounts.push({ hostPath: own, containerPath: REACHABLE_WORK, readOnly: false });
  const plan = abilities.namespace === "none" ? undefined : makePlan(options, mounts);
  if (!plan) linkMounts(mounts, work);

  const enter = [tool("sh", "start a container"), join(directory, "enter.sh")];
  const contained = isContained(options);
  const unshare =
    abilities.namespace === "none" ? [] : [tool("unshare", "mount volumes"), ...unshareArguments(abilities.namespace)];
  if (contained) unshare.push(...CONTAINED);
  if (unshare.length > 0) {
    const follows = config.mounts.some((mount) => mount.propagation === "hostToContainer");
    unshare.push("--propagation", follows ? "slave" : "private");
  }
  const script = config.tty ? { script: tool("script", "give a container a terminal") } : {};
  writeScript(
    join(directory, "keeper.sh"),
    keeperScript({
      directory,
      keeperGroups: options.keeperGroups,
      containerGroups: options.containerGroups,
      tools: {
        cat: tool("cat", "carry logs"),
        mkfifo: tool("mkfifo", "carry logs"),
        sleep: tool("sleep", "keep input open"),
        ...script,
      },
      stdin: config.stdin,
      tty: config.tty,
      ...(abilities.root ? { oomScoreAdjust: config.resources.oomScoreAdjust ?? 0 } : {}),
      contained,
      enter: [...unshare, ...enter],
    }),
  );
  writeScript(
    join(directory, "enter.sh"),
    enterScript({
      directory,
      ...(plan ? { plan } : {}),
      tools: planTools(plan),
      ...(abilities.namespace !== "none" && pod.hostname !== "" ? { hostname: pod.hostname } : {}),
      workingDirectory: work,
      privileges: privilegeWords,
      shell: tool("sh", "start a container"),
      contained,
    }),
  );
  const program = join(directory, "program.sh");
  writeScript(
    program,
    programScript({ command, environment, workingDirectory: work, env: tool("env", "set variables"), problems: 8 }),
  );
  // The last shell reads it with the container's user.
  if (privileges.user) chownSync(program, privileges.user.uid, privileges.user.gid);

  return {
    id: options.id,
    name: config.name,
    attempt: config.attempt,
    createdAt: options.createdAt,
    image: config.image,
    imageId: config.imageId,
    annotations: config.annotations,
    logFile: join(pod.logDirectory, config.logPath),
    resources: config.resources,
    ...(privileges.user ? { user: privileges.user } : {}),
    stopSignal: config.stopSignal ?? "SIGTERM",
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    environment,
    workingDirectory: work,
    privileges: privilegeWords,
    contained,
    ...(options.cgroup === undefined ? {} : { cgroup: options.cgroup }),
  };
}

/**
 * Without a control group that has all processes of a container, a namespace sees to it that none gets away; unless the
 * container is to see processes beside its own.
 */
function isContained(options: SetupOptions): boolean {
  const { hostPid, sharedPid } = options.pod.namespaces;
  if (options.cgroup !== undefined || options.abilities.namespace === "none") return false;
  return !hostPid && !sharedPid && options.config.targetContainer === undefined;
}

/** Only what the pod says, with what every program counts on; nothing of the node's own variables. */
function environmentOf(options: SetupOptions, work: string): EnvironmentVariable[] {
  const { address, config, pod } = options;
  const variables = new Map<string, string>([
    ["PATH", DEFAULT_PATH],
    ["HOME", work],
    ["HOSTNAME", pod.hostname],
  ]);
  if (config.tty) variables.set("TERM", "xterm");
  if (address !== undefined) variables.set("POD_IP", address).set("HOST", address);
  if (options.abilities.namespace === "none") variables.set("FJORD_ROOT", rootDirectory(options));
  for (const { name, value } of config.environment) variables.set(name, value);
  variables.set(POD_MARK, pod.pod.uid).set(CONTAINER_MARK, options.id);
  return [...variables].map(([name, value]) => ({ name, value }));
}

function rootDirectory(options: SetupOptions): string {
  return join(options.pod.podDirectory, "work", options.config.name);
}

function ownDirectory(options: SetupOptions): string {
  const { abilities, pod } = options;
  const own = abilities.namespace === "none" ? rootDirectory(options) : join(pod.podDirectory, "work");
  mkdirSync(own, { recursive: true });
  // Its processes may have users of their own.
  if (abilities.root) chmodSync(own, 0o1777);
  return realpathSync(own);
}

function allMounts(options: SetupOptions): Mount[] {
  const { dns } = options.pod;
  const mounts = [...options.config.mounts];
  if (!dns || mounts.some((mount) => mount.containerPath === "/etc/resolv.conf")) return mounts;
  const file = join(options.sandboxDirectory, "resolv.conf");
  const lines = [
    ...dns.servers.map((server) => `nameserver ${server}`),
    ...(dns.searches.length > 0 ? [`search ${dns.searches.join(" ")}`] : []),
    ...(dns.options.length > 0 ? [`options ${dns.options.join(" ")}`] : []),
  ];
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o644 });
  return [...mounts, { hostPath: file, containerPath: "/etc/resolv.conf", readOnly: false }];
}

function makePlan(options: SetupOptions, mounts: readonly Mount[]): MountPlan {
  const stage = join(options.directory, "stage");
  mkdirSync(stage, { recursive: true });
  const plan = planMounts({
    container: options.config.name,
    mounts,
    stage,
    readOnlyRoot: options.config.security.readOnlyRootFilesystem,
    hostMounts: parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8")),
  });
  for (const entry of plan.make) makeEntry(entry);
  for (const [name, table] of Object.entries(plan.tables)) {
    if (table !== "") writeFileSync(join(options.directory, name), table, { mode: 0o600 });
  }
  return plan;
}

function makeEntry({ path, directory, mode, target }: MadeEntry): void {
  if (directory) {
    mkdirSync(path, { recursive: true });
    // Not by mkdir, which takes the node's umask off.
    if (mode !== undefined && mode !== 0o755) chmodSync(path, mode);
    return;
  }
  if (target !== undefined) symlinkSync(target, path);
  else writeFileSync(path, "", { flag: "a" });
}

/** Without a view of its own, a container finds its volumes below its working directory. */
function linkMounts(mounts: readonly Mount[], work: string): void {
  for (const mount of mounts) {
    const inside = mount.containerPath.startsWith(`${work}/`);
    const link = inside ? mount.containerPath : join(work, mount.containerPath);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { recursive: true, force: true });
    symlinkSync(mount.hostPath, link);
  }
}

function planTools(plan: MountPlan | undefined): Record<string, string> {
  if (!plan) return {};
  const names = ["mount", "umount", "mountpoint", ...(plan.root === undefined ? [] : ["pivot_root"])];
  const tools = Object.fromEntries(names.map((name) => [name, tool(name, "mount volumes")]));
  return { ...tools, hostname: findTool("hostname") ?? "false" };
}

function writeScript(path: string, text: string): void {
  ifThere(() => writeFileSync(path, text, { mode: 0o600 }));
}
