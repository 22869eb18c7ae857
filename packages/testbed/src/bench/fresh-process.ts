import { spawn } from "node:child_process";

export interface FreshProcessOptions {
  readonly script: string;
  readonly args?: readonly string[];
  /** Flags of node itself. */
  readonly flags?: readonly string[];
  readonly signal?: AbortSignal;
}

/**
 * Runs a script in a Node process of its own and gives the JSON value that it printed on its last line: memory and
 * import time mean something only where nothing was loaded before.
 */
export async function inFreshProcess<T>(options: FreshProcessOptions): Promise<T> {
  const { script, args = [], flags = [], signal } = options;
  const child = spawn(process.execPath, [...flags, script, ...args], { stdio: ["ignore", "pipe", "pipe"], signal });
  let output = "";
  let complaints = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-4000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`${script} ${args.join(" ")} ended with ${code}: ${complaints.trim()}`);
  return JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as T;
}
