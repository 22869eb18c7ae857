import type { spawn as Spawn } from "node:child_process";
import { once } from "node:events";

/** Asks the desktop to open a link. A machine without one has the link in its terminal. */
export async function openBrowser(spawn: typeof Spawn, link: string, env: NodeJS.ProcessEnv): Promise<void> {
  const program = env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
  const child = spawn(program, [link], { stdio: "ignore", detached: true, env });
  child.unref();
  await Promise.race([once(child, "spawn"), once(child, "error")]).catch(() => {});
}
