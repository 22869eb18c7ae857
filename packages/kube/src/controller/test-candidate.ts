import { silentLogger, systemClock } from "@fjord/base";
import { KubeClient } from "../client/client.ts";
import { loadClusterConfig } from "../config/load.ts";
import { LeaderElector } from "./leader-election.ts";
import { Manager } from "./manager.ts";
import { untilSignal } from "./until-signal.ts";

// A program for tests: a manager that says every few milliseconds that it leads, for as long as it does.
const [kubeconfig = "", identity = ""] = process.argv.slice(2);
const say = (word: string) => process.stdout.write(`${word} ${identity} ${Date.now()}\n`);
const client = new KubeClient(await loadClusterConfig({ env: { KUBECONFIG: kubeconfig } }));
const common = { clock: systemClock, random: Math.random, logger: silentLogger };
const leaderElection = new LeaderElector({
  ...common,
  client,
  namespace: "default",
  name: "candidates",
  identity,
  leaseDurationMs: 3_000,
  renewDeadlineMs: 2_000,
  retryPeriodMs: 300,
});
const manager = new Manager({ ...common, leaderElection });
manager.add({
  name: "speaker",
  needsLeaderElection: true,
  run: (stop) =>
    new Promise((resolve) => {
      const timer = setInterval(() => leaderElection.leading && say("leads"), 10);
      stop.addEventListener("abort", () => {
        clearInterval(timer);
        resolve();
      });
    }),
});
using until = untilSignal(process);
say("waits");
try {
  await manager.run(until.signal);
  say("stopped");
} catch (error) {
  say((error as { code?: string }).code ?? String(error));
  process.exitCode = 1;
} finally {
  await client.close();
}
