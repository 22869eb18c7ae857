import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

const program = `
  import { untilSignal } from ${JSON.stringify(new URL("./until-signal.ts", import.meta.url).href)};
  const { signal } = untilSignal(process);
  const alive = setInterval(() => {}, 1000);
  signal.addEventListener("abort", () => {
    console.log("stopping");
    if (process.env.QUICK) clearInterval(alive);
  });
  console.log("ready");
`;

async function startProgram(env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  await once(child.stdout, "data");
  return { child, exit };
}

test("the first signal asks for a stop, which may end well", async () => {
  const { child, exit } = await startProgram({ QUICK: "1" });
  child.kill("SIGTERM");
  assert.deepEqual(await exit, [0, null]);
});

test("the second signal ends the process at once", async () => {
  const { child, exit } = await startProgram();
  child.kill("SIGTERM");
  const [text] = await once(child.stdout, "data");
  assert.equal(String(text), "stopping\n");
  child.kill("SIGINT");
  assert.deepEqual(await exit, [130, null]);
});
