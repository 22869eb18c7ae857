// `demo`, beside `fjord` and `kubectl` in the shell of a running demo: what only the demo itself can do.
import { join } from "node:path";
import { loginPath, requestLogin } from "@fjord/agent/page-login";
import { describeError } from "@fjord/base";
import { Deployment, KubeClient, loadClusterConfig, Pod } from "@fjord/kube";
import { Command, CommanderError } from "commander";
import { CLOUD, demoPlans, pageOf } from "./demo-plan.ts";
import { readRecord } from "./demo-record.ts";
import { podTable } from "./pod-table.ts";

const [directory = "", ...words] = process.argv.slice(2);
const record = readRecord(directory);
const print = (text: string) => void process.stdout.write(text);

const program = new Command("demo")
  .description("What only the demo can do: cut its sites off, and look without kubectl.")
  .showHelpAfterError("(--help lists what there is)")
  .exitOverride();
program
  .command("cut <site>")
  .description("cut a site off")
  .action((site: string) => reach(site, true));
program
  .command("heal <site>")
  .description("bring it back")
  .action((site: string) => reach(site, false));
program.command("page").description("a link that opens the page, once, within two minutes").action(page);
program
  .command("pods <namespace>")
  .description("where the pods of a namespace run")
  .option("--context <site>", "as which site sees it", CLOUD)
  .action(pods);
program
  .command("scale <namespace/deployment> <replicas>")
  .description("give a Deployment more or less to do")
  .option("--context <site>", "at which site", CLOUD)
  .action(scale);

try {
  await program.parseAsync(words, { from: "user" });
} catch (error) {
  process.exitCode = error instanceof CommanderError ? error.exitCode : 1;
  if (!(error instanceof CommanderError)) process.stderr.write(`error: ${describeError(error)}\n`);
}

async function reach(site: string, cut: boolean): Promise<void> {
  const body = JSON.stringify({ site, cut });
  const answer = await fetch(running().control, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim());
  print(text);
}

async function page(): Promise<void> {
  await using client = await clientOf(CLOUD);
  const [plan] = demoPlans(running().berth);
  if (plan !== undefined) print(`${pageOf(plan)}${loginPath(await requestLogin(client))}\n`);
}

async function pods(namespace: string, { context }: { context: string }): Promise<void> {
  await using client = await clientOf(context);
  print(podTable((await client.list(Pod, { namespace })).items));
}

async function scale(target: string, replicas: string, { context }: { context: string }): Promise<void> {
  if (!/^\d{1,2}$/.test(replicas)) throw new Error(`${replicas} is no number of replicas from 0 to 99`);
  const [namespace = "", name = ""] = target.split("/");
  await using client = await clientOf(context);
  await client.patch(Deployment, { namespace, name }, "merge", { spec: { replicas: Number(replicas) } }, {});
  print(`${target} at ${context} is to have ${replicas} pods\n`);
}

function running(): NonNullable<typeof record> {
  if (record === undefined) throw new Error("the demo has ended: `npm run demo` starts another");
  return record;
}

async function clientOf(context: string): Promise<KubeClient> {
  const kubeconfig = join(directory, "kubeconfig");
  return new KubeClient(await loadClusterConfig({ env: {}, kubeconfig, context }), { closeGraceMs: 100 });
}
