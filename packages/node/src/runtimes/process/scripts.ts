import type { EnvironmentVariable } from "../../runtime/configuration.ts";
import type { MountPlan } from "./mount-plan.ts";
import { KEEPER_MARK } from "./process-table.ts";
import { commandLine, quote } from "./shell.ts";

/** Reads pid, terminal (`f`) and start of the shell itself without starting a program. */
export const READ_OWN_STAT = "read -r pid a b c d e f g h i j k l m n o p q r s t start u </proc/self/stat";

/** Said among the problems once everything is mounted: those before were warnings. */
export const MOUNTED = "fjord-mounted";

export interface KeeperScript {
  readonly directory: string;
  /** Files that a process writes 0 to, to enter the control groups of the helpers and of the container. */
  readonly keeperGroups: readonly string[];
  readonly containerGroups: readonly string[];
  readonly tools: { cat: string; mkfifo: string; sleep: string; script?: string };
  readonly stdin: boolean;
  readonly tty: boolean;
  /** Of the program; the keeper is the last to be killed. Absent where the machine does not permit it. */
  readonly oomScoreAdjust?: number;
  /** The code comes by a file, since `unshare` does not pass on what its child was killed by. */
  readonly contained: boolean;
  /** Command that runs `enter.sh`. */
  readonly enter: readonly string[];
}

/**
 * The shell that stands by a container for its whole life, whatever becomes of the node: takes the claim (whoever comes
 * second gives up), joins the output to raw files through pipes with a name, and notes how the program ended. The raw
 * files are there before the program: who attaches reads them, and the carriers may be slow to start.
 */
export function keeperScript(options: KeeperScript): string {
  const { tools } = options;
  // What `unshare` has to say is no output of the container, whose own goes by descriptor 7.
  const errors = options.contained && !options.tty ? "7>stderr 2>>keeper.log" : "2>stderr";
  const input = options.stdin ? "<&6 6<&-" : "</dev/null";
  const aside = options.contained ? "exec 7>&2 2>>keeper.log; exec " : "exec ";
  const enter = options.tty
    ? // The terminal is made outside of the container's view; all output comes by it.
      `${quote(tools.script ?? "script")} -q -e -f -c ${quote(aside + commandLine(options.enter))} /dev/null`
    : commandLine(options.enter);
  return `cd ${quote(options.directory)} || exit 1
${READ_OWN_STAT}
read -r boot </proc/sys/kernel/random/boot_id
set -C
echo "$pid $start $boot" 2>/dev/null >claim || exit 0
set +C
umask 022
${options.keeperGroups.map((file) => `echo 0 2>/dev/null >${quote(file)}\n`).join("")}${options.oomScoreAdjust === undefined ? "" : "{ echo -998 >/proc/self/oom_score_adj; } 2>/dev/null\n"}: >>stdout.raw >>stderr.raw
${quote(tools.mkfifo)} -m 622 stdout stderr
${options.stdin ? `${quote(tools.mkfifo)} -m 600 stdin\nexec 5<>stdin 6<stdin\n${quote(tools.sleep)} 2147483647 6<&- &\necho $! >stdin.holder\nexec 5>&-\n` : ""}exec 3<>stdout 4<>stderr 7<stdout 8<stderr
${quote(tools.cat)} <&7 >>stdout.raw 3>&- 4>&- 6<&- 7<&- 8<&- &
carrier=$!
${quote(tools.cat)} <&8 >>stderr.raw 3>&- 4>&- 6<&- 7<&- 8<&- &
echo "$carrier $!" >carriers
exec 7<&- 8<&-
(
  # 5 to 9 are opened outside of the container's view, which may become read-only, and which they would keep from it.
  unset ${KEEPER_MARK}
  exec ${input} >stdout ${errors} 3>&- 4>&- 5>main 6>code 8>>problem 9<program.sh
${options.containerGroups.map((file) => `  echo 0 2>/dev/null >${quote(file)}\n`).join("")}${options.oomScoreAdjust === undefined ? "" : `  { echo ${options.oomScoreAdjust} >/proc/self/oom_score_adj; } 2>/dev/null\n`}  exec ${enter}
)
rc=$?
${options.contained ? "rc=137; [ -s code ] && read -r rc <code\n" : ""}echo $rc >exit
exec 3>&- 4>&- 6<&-
${options.stdin ? `read -r holder <stdin.holder && kill "$holder" 2>/dev/null\n` : ""}wait
echo >drained
`;
}

export interface EnterScript {
  readonly directory: string;
  readonly plan?: MountPlan;
  readonly tools: Readonly<Record<string, string>>;
  readonly hostname?: string;
  readonly workingDirectory: string;
  /** `setpriv` and its arguments; empty where nothing is to be given up. */
  readonly privileges: readonly string[];
  readonly shell: string;
  /** It is the first process of a namespace, with which all others end; the program is its child. */
  readonly contained: boolean;
}

/** Runs in the container's namespaces: says which process it is, mounts, gives up privileges, becomes the program. */
export function enterScript(options: EnterScript): string {
  const { plan } = options;
  const lines: string[] = [];
  for (const [name, path] of Object.entries(options.tools)) lines.push(`${name}=${quote(path)}`);
  if (options.contained) lines.push(READ_OWN_STAT, 'echo "$pid $start" >init');
  if (options.hostname !== undefined) {
    // Root can do without a program; others may not write to the file, though they may set the name.
    const name = quote(options.hostname);
    lines.push(`{ echo ${name} >/proc/sys/kernel/hostname; } 2>/dev/null || "$hostname" ${name} 2>/dev/null`);
  }
  lines.push(`fail() { echo "cannot mount the volumes" >&8; { echo 128 >&6; } 2>/dev/null; exit 128; }`);
  // The pid is the one that the machine knows, as long as /proc is the machine's.
  const become = [READ_OWN_STAT];
  if (plan) {
    become.push(`tables=${quote(options.directory)}`);
    for (const command of plan.commands) become.push(`{ ${command}; } 2>&8 || fail`);
    // Warnings of commands that succeeded are no reason why the program can not be run.
    become.push(`echo ${MOUNTED} >&8`);
  }
  if (options.contained) become.push(`"$mount" -t proc proc ${quote(`${plan?.root ?? ""}/proc`)} 2>/dev/null`);
  if (plan?.root !== undefined) {
    const root = quote(plan.root);
    become.push(`cd ${root} && "$pivot_root" . . 2>&8 && "$umount" -l . 2>&8 && cd / || fail`);
  }
  // Its user may not be able to reach it by its path.
  become.push(`cd -- ${quote(options.workingDirectory)} 2>/dev/null`);
  // Only now may others join it.
  become.push('echo "$pid $start" >&5', "exec 5>&- 6>&-");
  become.push(`exec ${commandLine([...options.privileges, options.shell, "/proc/self/fd/9"])}`);
  if (!options.contained) lines.push(...become);
  // This shell's own remarks on how its child ended are no output of the container.
  else lines.push("(", "exec 2>&7 6>&- 7>&-", ...become, ")", "echo $? >&6");
  return `${lines.join("\n")}\n`;
}

export interface ProgramScript {
  readonly command: readonly string[];
  readonly environment: readonly EnvironmentVariable[];
  readonly workingDirectory: string;
  readonly env: string;
  /** Where to say why the program can not be run: 8 for the keeper's file, 2 for the output of an exec. */
  readonly problems: 2 | 8;
}

/**
 * The last shell, with the container's user and view: sets the variables and becomes the program. The variables come
 * last, so that none of them has a say in the programs that ran before with more privileges.
 */
export function programScript(options: ProgramScript): string {
  const [program = ""] = options.command;
  const plain = options.environment.filter(({ name }) => /^[A-Za-z_]\w*$/.test(name));
  const odd = options.environment.filter(({ name }) => !/^[A-Za-z_]\w*$/.test(name));
  const say = (text: string, code: number) => `{ echo ${quote(text)} >&${options.problems}; exit ${code}; }`;
  const check = program.includes("/")
    ? [
        `[ -e ${quote(program)} ] || ${say(`${program}: no such file on this machine`, 127)}`,
        `{ [ -x ${quote(program)} ] && [ ! -d ${quote(program)} ]; } || ${say(`${program}: not an executable file`, 126)}`,
      ]
    : [
        `command -v -- ${quote(program)} >/dev/null || ${say(`${program}: no such program in the PATH of the container`, 127)}`,
      ];
  const words =
    odd.length === 0
      ? options.command
      : [options.env, ...odd.map((each) => `${each.name}=${each.value}`), ...options.command];
  return [
    `cd -- ${quote(options.workingDirectory)} 2>/dev/null || [ "$(pwd -P)" = ${quote(options.workingDirectory)} ] || ${say(`working directory ${options.workingDirectory}: cannot be entered`, 126)}`,
    "unset OLDPWD",
    ...plain.map(({ name, value }) => `export ${name}=${quote(value)}`),
    ...check,
    "exec 8>&- 9<&-",
    `exec ${commandLine(words)}`,
    "",
  ].join("\n");
}
