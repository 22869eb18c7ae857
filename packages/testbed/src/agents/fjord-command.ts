import { type ChildProcess, execFile, spawn } from "node:child_process";
import { testedFjord } from "../release/tested-program.ts";
import type { Site } from "../site.ts";

export interface FjordResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command `fjord` as the administrator of a site, and tells what became of it. */
export function fjordResult(site: Pick<Site, "kubeconfig">, ...args: readonly string[]): Promise<FjordResult> {
  return new Promise((resolve) => {
    const command = [testedFjord(), ...args, `--kubeconfig=${site.kubeconfig}`];
    execFile(process.execPath, command, { maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ exitCode, stdout, stderr });
    });
  });
}

/** Runs the command `fjord`, gives what it printed, and throws where it fails. */
export async function fjord(site: Site, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await fjordResult(site, ...args);
  if (exitCode !== 0) throw new Error(`fjord ${args[0]} at ${site.name} ended with ${exitCode}: ${stderr.trim()}`);
  return stdout;
}

/** Starts the command `fjord`, which goes on until somebody ends it; standard output and error are pipes. */
export function startFjord(kubeconfig: string, ...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [testedFjord(), ...args, `--kubeconfig=${kubeconfig}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}
