import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { systemClock } from "@fjord/base";
import { waitFor } from "../wait.ts";

const cli = fileURLToPath(new URL("cli.ts", import.meta.url));
const LONG_MS = 240_000;

/** The demo as a user starts it, with what it has printed so far. */
export function startTestDemo(...flags: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [cli, ...flags], {
    // What tests may say CI=1 or ask for colours, and this is no terminal all the same.
    env: { ...process.env, CI: "1", FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const hear = (chunk: Buffer) => {
    text += chunk.toString("utf8");
  };
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  const ended = once(child, "close").then(([code]) => code as number);
  return {
    child,
    ended,
    output: () => text,
    async says(pattern: RegExp) {
      const isOver = () => pattern.test(text) || child.exitCode !== null;
      const said = await waitFor(isOver, { clock: systemClock, timeout: LONG_MS });
      assert.ok(said && pattern.test(text), text);
    },
  };
}

/** What a tour prints that found every scene as it should be. */
export function assertTour(shown: string): void {
  assert.match(shown, /^ +frosty-wood +Peer +edge .*False +Unreachable/m);
  const three = "green-smoke, lingering-meadow, lively-wave";
  const spread = "2 at green-smoke, 2 at lingering-meadow, 2 at lively-wave";
  assert.ok(shown.includes(`${spread}; the front end answers from ${three}`), shown);
  assert.match(shown, /\d at green-smoke, [12] at harbor$/m);
  assert.match(shown, /: 2 at green-smoke$/m);
  assert.match(shown, /\d at harbor, \d at l.*$/m);
  assert.match(
    shown,
    /2 at frosty-wood, .*; the front end answers from frosty-wood, green-smoke, lingering-meadow, lively-wave/,
  );
}
