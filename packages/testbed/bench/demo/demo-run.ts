import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter } from "node:path";

/** What one run of the demo showed. */
export interface DemoRun {
  /** From the command until everything is ready. */
  readonly seconds: number;
  /** Until it has removed everything again. */
  readonly whole: number;
  readonly megabytes: number;
}

/** `npm run demo -- --once` as somebody would type it in a clone. */
export async function runDemo(clone: string, signal: AbortSignal): Promise<DemoRun> {
  const began = performance.now();
  const child = spawn("npm", ["run", "--silent", "demo", "--", "--once"], {
    cwd: clone,
    env: cleanEnvironment(process.env),
    stdio: ["ignore", "pipe", "pipe"],
    // Its own group: an end is for npm and for all that it has started.
    detached: true,
  });
  let output = "";
  let ready: number | undefined;
  const hear = (chunk: Buffer) => {
    output += chunk.toString("utf8");
    if (ready === undefined && /^Ready after/m.test(output)) ready = performance.now();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const stop = () => child.pid !== undefined && process.kill(-child.pid, "SIGINT");
  signal.addEventListener("abort", stop, { once: true });
  const [code] = (await once(child, "close")) as [number | null];
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  const [, megabytes] = /the five sites take (\d+) MB together/.exec(output) ?? [];
  if (code !== 0 || ready === undefined || megabytes === undefined)
    throw new Error(
      `the demo ended with ${code} after ${((performance.now() - began) / 1000).toFixed(0)} s:\n${output}`,
    );
  const since = (moment: number) => (moment - began) / 1000;
  return { seconds: since(ready), whole: since(performance.now()), megabytes: Number(megabytes) };
}

/** As in a shell outside this repository: what npm and its programs set for theirs is no concern of a clone's. */
export function cleanEnvironment({ PATH = "", ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = PATH.split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const own = Object.entries(env).filter(([name]) => !/^(npm_|NODE_|INIT_CWD$)/i.test(name));
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) };
}
