import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chownSync, closeSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type Clock, sleep } from "@fjord/base";
import type { ExecSyncResult } from "../../runtime/runtime.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";
import { finished, pour } from "../../stream/pour.ts";
import { ProcessCommandTimeout, ProcessContainerNotRunning } from "./errors.ts";
import type { ProcessContainer } from "./process-container.ts";
import { CONTAINER_MARK, POD_MARK } from "./process-table.ts";
import { programScript, READ_OWN_STAT } from "./scripts.ts";
import { commandLine, quote } from "./shell.ts";
import { followSizes, terminalOf } from "./terminal.ts";
import { type MountNamespace, tool } from "./tools.ts";

/** How long output is waited for after a command has ended: what it left running may hold it open for ever. */
const OUTPUT_PATIENCE = 1000;
/** Of the output of a short command. */
const MOST_OUTPUT = 64 * 1024;

/**
 * Node's own pipes are sockets, which `/dev/stdout` and `/dev/stderr` can not be opened by: real pipes lie between. The
 * exit code comes by descriptor 5.
 */
const THROUGH_PIPES =
  "exec 3>&1 4>&2; " +
  '{ { { "$@" 3>&- 4>&- 5>&- 6>&-; echo $? >&5; } 2>&1 >&6 | "$cat" >&4 3>&- 5>&- 6>&- 9<&-; } 6>&1 | "$cat" >&3 4>&- 5>&- 9<&-; }';

export interface CommandPlace {
  readonly container: ProcessContainer;
  readonly podUid: string;
  readonly namespace: MountNamespace;
  /** Files to write 0 to. */
  readonly groups: readonly string[];
  readonly clock: Clock;
  /** Told of each process that a command descends from. */
  readonly began?: (child: ChildProcess) => void;
}

/** Runs a command in a container's view, group and variables, joined to streams. */
export async function runCommand(
  place: CommandPlace,
  command: readonly string[],
  streams: CommandStreams,
  signal?: AbortSignal,
): Promise<number> {
  const inner = [...enterWords(place), tool("sh", "run a command"), "/proc/self/fd/9"];
  const script = openProgram(place, command);
  let child: ChildProcess;
  try {
    const words = streams.tty ? terminalWords(place, inner) : pipeWords(place, inner);
    const input = streams.stdin ? "pipe" : streams.tty ? "pipe" : "ignore";
    child = spawn(tool("sh", "run a command"), words, {
      cwd: place.container.directory,
      detached: true,
      stdio: [input, "pipe", "pipe", "ignore", "ignore", "pipe", "ignore", "ignore", "ignore", script],
      env: marksOf(place),
    });
    place.began?.(child);
  } finally {
    closeSync(script);
  }
  return joinStreams(place, child, streams, signal);
}

async function joinStreams(
  place: CommandPlace,
  child: ChildProcess,
  streams: CommandStreams,
  signal?: AbortSignal,
): Promise<number> {
  const kill = () => killGroup(child);
  signal?.addEventListener("abort", kill, { once: true });
  const stopSizes = new AbortController();
  try {
    const told = lines((child.stdio as readonly unknown[])[5] as Readable);
    const exited = new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, name) => resolve(code ?? (name === null ? 1 : 137)));
    });
    if (signal?.aborted) kill();
    const outputs = [
      streams.stdout && child.stdout ? pour(child.stdout, streams.stdout) : child.stdout?.resume(),
      streams.stderr && child.stderr ? pour(child.stderr, streams.stderr) : child.stderr?.resume(),
    ];
    if (child.stdin) {
      // The command may end before it has read everything.
      child.stdin.on("error", () => {});
      const { stdin } = child;
      if (streams.stdin) void pour(streams.stdin, stdin).then(() => stdin.end());
    }
    if (streams.tty && streams.sizes) {
      void told.first.then((line) => followSizes(terminalOf(Number(line)), streams.sizes, stopSizes.signal));
    }
    // That the shell has ended may be known before what it told is read: its own code is that of the last pipe.
    const code = told.first.then(Number);
    const result = await (streams.tty ? exited : Promise.race([code, exited.then(() => code)]));
    const patience = new AbortController();
    await Promise.race([Promise.all(outputs), sleep(place.clock, OUTPUT_PATIENCE, patience.signal)]);
    patience.abort();
    return Number.isNaN(result) ? await exited : result;
  } finally {
    signal?.removeEventListener("abort", kill);
    stopSizes.abort();
    child.stdin?.destroy();
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    const sinks = [streams.stdout, streams.stderr].filter((sink) => sink !== undefined);
    for (const sink of sinks) sink.end();
    await Promise.all(sinks.map(finished));
  }
}

/** Runs a short command; its output goes to a file, which costs less than pipes. */
export async function runShortCommand(
  place: CommandPlace,
  command: readonly string[],
  timeoutMs: number,
): Promise<ExecSyncResult> {
  const { container } = place;
  const inner = [...enterWords(place), tool("sh", "run a command"), "/proc/self/fd/9"];
  const script = openProgram(place, command);
  const output = openUnnamed(container, "");
  try {
    const child = spawn(tool("sh", "run a command"), ["-c", `${joinGroups(place)}exec "$@"`, "sh", ...inner], {
      cwd: container.directory,
      detached: true,
      stdio: ["ignore", output, output, "ignore", "ignore", "ignore", "ignore", "ignore", "ignore", script],
      env: marksOf(place),
    });
    place.began?.(child);
    const exitCode = await new Promise<number>((resolve, reject) => {
      const cancel = place.clock.after(timeoutMs, () => {
        killGroup(child);
        reject(new ProcessCommandTimeout({ command: command.join(" "), container: container.record.name, timeoutMs }));
      });
      child.once("error", (error) => {
        cancel();
        reject(error);
      });
      child.once("exit", (code) => {
        cancel();
        resolve(code ?? 137);
      });
    });
    const buffer = Buffer.alloc(MOST_OUTPUT);
    return { exitCode, output: buffer.toString("utf8", 0, readSync(output, buffer, 0, MOST_OUTPUT, 0)) };
  } finally {
    closeSync(script);
    closeSync(output);
  }
}

function pipeWords(place: CommandPlace, inner: readonly string[]): string[] {
  return ["-c", `${joinGroups(place)}cat=${quote(tool("cat", "run a command"))}; ${THROUGH_PIPES}`, "sh", ...inner];
}

function terminalWords(place: CommandPlace, inner: readonly string[]): string[] {
  // The number of the terminal comes by descriptor 5 too.
  const command = `${READ_OWN_STAT}; echo "$f" >&5; exec 5>&-; exec ${commandLine(inner)}`;
  const script = tool("script", "give a command a terminal");
  return ["-c", `${joinGroups(place)}exec "$@"`, "sh", script, "-q", "-e", "-f", "-c", command, "/dev/null"];
}

function joinGroups(place: CommandPlace): string {
  return place.groups.map((file) => `echo 0 2>/dev/null >${quote(file)}; `).join("");
}

/** Into the namespaces of the container's program, with its privileges. */
function enterWords(place: CommandPlace): string[] {
  const main = place.container.main();
  if (!main) throw new ProcessContainerNotRunning({ action: "run a command", id: place.container.id });
  const pid = place.container.record.contained ? ["--pid"] : [];
  const nsenter = () => [tool("nsenter", "run a command"), "--target", String(main.pid), "--mount", "--uts", ...pid];
  const { privileges, workingDirectory } = place.container.record;
  // Its user may not be able to reach it by its path.
  const enter = [tool("sh", "run a command"), "-c", 'cd -- "$0" 2>/dev/null; exec "$@"', workingDirectory];
  if (place.namespace === "root") return [...nsenter(), ...enter, ...privileges];
  if (place.namespace === "user") return [...nsenter(), "--user", "--preserve-credentials", ...enter, ...privileges];
  return [...enter, ...privileges];
}

function openProgram(place: CommandPlace, command: readonly string[]): number {
  const { record } = place.container;
  const text = programScript({
    command,
    environment: record.environment,
    workingDirectory: record.workingDirectory,
    env: tool("env", "run a command"),
    problems: 2,
  });
  return openUnnamed(place.container, text);
}

/** A file that only whoever has its descriptor can read: variables may be secrets. */
function openUnnamed(container: ProcessContainer, text: string): number {
  const path = join(container.directory, `command-${randomUUID()}`);
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
  try {
    // The command's user opens it once more, by /proc.
    const { user } = container.record;
    if (user) chownSync(path, user.uid, user.gid);
    return openSync(path, "a+");
  } finally {
    rmSync(path);
  }
}

function marksOf(place: CommandPlace): Record<string, string> {
  return { [POD_MARK]: place.podUid, [CONTAINER_MARK]: place.container.id };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The first line of a stream; empty where it ends before. */
function lines(stream: Readable): { first: Promise<string> } {
  const first = new Promise<string>((resolve) => {
    let text = "";
    stream.setEncoding("latin1");
    stream.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    stream.once("close", () => resolve("NaN"));
    stream.on("error", () => resolve("NaN"));
  });
  return { first };
}
