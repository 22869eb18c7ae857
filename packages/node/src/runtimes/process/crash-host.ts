import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ProcessRuntime, type ProcessRuntimeOptions } from "./process-runtime.ts";
import { containerConfig, sandboxConfig, shell } from "./testing.ts";

/**
 * A node in miniature, for a test that kills it: keeps some pods, starts what was created, removes what has ended. Takes
 * the runtime's options as its argument. Whatever it does must be right whenever it is killed.
 */
const options = JSON.parse(process.argv[2] ?? "{}") as ProcessRuntimeOptions & { lines: number; pods: number };
const runtime = await ProcessRuntime.open(options);
process.stdout.write("ready\n");

for (;;) {
  const sandboxes = await runtime.list();
  await Promise.all(sandboxes.map((sandbox) => advance(sandbox)));
  for (let count = sandboxes.length; count < options.pods; count++) {
    const config = sandboxConfig(options.stateDirectory);
    mkdirSync(config.podDirectory, { recursive: true });
    appendFileSync(join(options.stateDirectory, "pods.txt"), `${config.pod.uid}\n`);
    await runtime.runSandbox(config);
  }
  await delay(Math.random() * 20);
}

async function advance(sandbox: Awaited<ReturnType<ProcessRuntime["list"]>>[number]): Promise<void> {
  const pod = sandboxConfig(options.stateDirectory, { pod: sandbox.pod });
  const [container] = sandbox.containers;
  if (sandbox.state === "notReady") await runtime.removeSandbox(sandbox.id);
  else if (!container) {
    const program = `echo $$ >>${pod.podDirectory}/runs; i=0; while [ $i -lt ${options.lines} ]; do i=$((i+1)); echo $i; [ $((i%50)) = 0 ] && sleep 0.02; done; echo $i >${pod.podDirectory}/whole; setsid sleep 300 & `;
    await runtime.createContainer(sandbox.id, containerConfig(shell(program)), pod);
  } else if (container.state === "created") await startOrRemove(container.id);
  else if (container.state === "running" && Math.random() < 0.02) await runtime.stopContainer(container.id, 0.05);
  else if (container.state === "exited" && Math.random() < 0.5) await runtime.removeSandbox(sandbox.id);
}

/** One that an earlier host had made and not started is given up by this one. */
async function startOrRemove(id: string): Promise<void> {
  try {
    await runtime.startContainer(id);
  } catch {
    await runtime.removeContainer(id);
  }
}
