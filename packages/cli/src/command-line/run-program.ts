import type { spawn as Spawn } from "node:child_process";
import { once } from "node:events";
import type { CommandContext } from "./command-context.ts";

/**
 * Runs another program in this one's terminal, and gives what it ended with. A terminal sends its interrupts to both: the other
 * program decides what becomes of them; one that was sent to this process alone is handed on.
 */
export async function runProgram(
  spawn: typeof Spawn,
  file: string,
  args: readonly string[],
  { env, signal }: Pick<CommandContext, "env" | "signal">,
): Promise<number> {
  const child = spawn(file, args, { stdio: "inherit", env });
  const end = () => void child.kill("SIGINT");
  signal.addEventListener("abort", end, { once: true });
  try {
    const [code, killed] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    return code ?? (killed === "SIGINT" ? 130 : 143);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
