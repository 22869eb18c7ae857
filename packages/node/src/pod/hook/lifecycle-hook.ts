import { type Clock, describeError, sleep } from "@fjord/base";
import { HookFailed } from "../errors.ts";
import type { LifecycleHandler } from "../pod-containers.ts";
import { runCommand } from "../probe/exec-probe.ts";
import { get } from "../probe/http-probe.ts";
import { type HttpTarget, httpTarget, portNumber } from "../probe/http-target.ts";
import type { ProbedContainer } from "../probe/probe-try.ts";
import { probeTcp } from "../probe/tcp-probe.ts";

/** Runs a hook to its end; throws where it fails, and where the signal aborts first. */
export async function runHook(
  handler: LifecycleHandler,
  container: ProbedContainer & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const { exec, httpGet, tcpSocket, sleep: pause } = handler;
  try {
    if (exec !== undefined) await runExec(exec.command ?? [], container, signal);
    else if (httpGet !== undefined) await request(httpTarget(httpGet, container.spec, container.podIP, "hook"), signal);
    else if (tcpSocket !== undefined) {
      const host = tcpSocket.host || container.podIP;
      const result = await probeTcp(host, portNumber(tcpSocket.port, container.spec), signal);
      if (result.outcome !== "success") throw new Error(result.message);
    } else if (pause !== undefined) await sleep(container.clock, pause.seconds * 1000, signal);
  } catch (error) {
    throw new HookFailed({ container: container.spec.name, reason: describeError(error) }, { cause: error });
  }
}

async function runExec(command: readonly string[], container: ProbedContainer, signal: AbortSignal): Promise<void> {
  const { exitCode, output } = await runCommand(container.runtime, container.id, command, signal);
  if (exitCode !== 0) throw new Error(`command '${command.join(" ")}' exited with ${exitCode}: ${output}`);
}

/** Any answer will do. A server that speaks plain HTTP where HTTPS is asked for is asked again in its own way. */
async function request(target: HttpTarget, signal: AbortSignal): Promise<void> {
  try {
    await get(target, signal);
  } catch (error) {
    const isPlain =
      (error as NodeJS.ErrnoException).code?.includes("SSL") ||
      /wrong version number|packet length/i.test(String(error));
    if (target.url.protocol !== "https:" || !isPlain || signal.aborted) throw error;
    const { hostname, port, pathname, search } = target.url;
    const url = new URL(`http://${hostname}:${port || 443}${pathname}${search}`);
    await get({ ...target, url }, signal);
  }
}
