import { Site as SiteKind } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { KubeClient } from "@fjord/kube";
import { startSiteAgent } from "../agents/index.ts";
import type { Bed } from "../bed.ts";
import { isAlive } from "../process-identity.ts";
import type { Site } from "../site.ts";
import { type DemoBedOptions, findGround, startDemoBed } from "./demo-bed.ts";
import { DemoShell } from "./demo-shell.ts";
import { DemoRunning } from "./errors.ts";
import { nextSteps } from "./next-steps.ts";
import type { Steps } from "./steps.ts";
import { helloDeployment, NAMESPACE } from "./workload.ts";

const CONSUMER = "harbour";
const PROVIDER = "lively-wave";
const SHARED = { cpu: "2", memory: "2Gi", pods: "20" };
const ASKED = { cpu: "1", memory: "1Gi", pods: "10" };

export interface DemoOptions extends Omit<DemoBedOptions, "told"> {
  readonly steps: Steps;
  readonly clock: Clock;
}

/** Two sites that share, with a Deployment over both. The caller stops the bed. */
export async function startDemo(options: DemoOptions): Promise<Bed> {
  const { steps, directory, registry } = options;
  const running = registry.list().find((bed) => bed.directory === directory && bed.owner && isAlive(bed.owner));
  if (running?.owner !== undefined) throw new DemoRunning({ pid: running.owner.pid, directory });
  const bedOptions = { ...options, told: (line: string) => steps.say(`  ${line}`) };
  const ground = await findGround(bedOptions);
  const kind = ground.reason === undefined ? "real" : "simulated";
  const title = `two Kubernetes clusters, ${CONSUMER} and ${PROVIDER}, with a ${kind} node each`;
  const bed = await steps.step(title, () => startDemoBed(ground, bedOptions));
  try {
    if (ground.reason !== undefined)
      steps.say(`  No container runs (${ground.reason}): pods are played, without logs.`);
    const [consumer, provider] = bed.sites as [Site, Site];
    const shell = new DemoShell({
      directory,
      contexts: { [CONSUMER]: () => consumer.config, [PROVIDER]: () => provider.config },
      kubectl: ground.binaries.path("kubectl"),
      signal: options.signal,
    });
    await shell.write();
    await steps.step("an agent in each", () => startAgents(bed, options));
    await peer(shell, steps);
    await deploy(shell, steps, kind === "real");
    const where = { file: shell.file, consumer: CONSUMER, provider: PROVIDER, containers: kind === "real" };
    steps.say(`\nWhat to try next:\n\n${nextSteps(where)}`);
    return bed;
  } catch (error) {
    if (!options.signal.aborted) steps.say(lastWords(bed));
    await bed.stop();
    throw error;
  }
}

/** Each says where the other reaches it, so that nobody has to know a port. */
async function startAgents(bed: Bed, { signal, clock }: DemoOptions): Promise<void> {
  const names = [CONSUMER, PROVIDER];
  const start = async (site: Site, index: number) => {
    const name = names[index] ?? site.name;
    const other = bed.sites[1 - index] as Site;
    const { peerAddress } = await startSiteAgent(site, { name, signal, clock });
    const { host, port } = await bed.path(other.name, site.name).expose(peerAddress);
    await using client = new KubeClient(site.config, { closeGraceMs: 1_000 });
    const spec = { endpoints: [`https://${host}:${port}`] };
    await client.patch(SiteKind, { name }, "merge", { spec }, { signal });
  };
  await Promise.all(bed.sites.map(start));
}

async function peer(shell: DemoShell, steps: Steps): Promise<void> {
  const inProvider = ["--context", PROVIDER];
  await steps.step(`${PROVIDER} shares, ${CONSUMER} takes a slice: one is a node of the other`, async () => {
    const share = JSON.stringify({ spec: { sharing: { resources: SHARED } } });
    const patch = ["patch", "site", PROVIDER, "--type=merge", `--patch=${share}`];
    const shared = await shell.run("kubectl", [...inProvider, ...patch]);
    steps.shown(`kubectl --context ${PROVIDER} patch site ${PROVIDER} --type=merge --patch='${share}'`, shared);
    const token = (await shell.run("fjord", ["pair", "token", ...inProvider])).trim();
    steps.shown(`fjord pair token --context ${PROVIDER}`, `${token.slice(0, 40)}...`);
    const amounts = Object.entries(ASKED).map(([name, amount]) => `--${name}=${amount}`);
    const peered = await shell.run("fjord", ["peer", token, ...amounts]);
    steps.shown(`fjord peer ${token.slice(0, 12)}... ${amounts.join(" ")}`, peered);
    steps.shown("kubectl get nodes", await shell.run("kubectl", ["get", "nodes"]));
  });
}

async function deploy(shell: DemoShell, steps: Steps, containers: boolean): Promise<void> {
  const inNamespace = ["-n", NAMESPACE];
  await steps.step("a Deployment over both", async () => {
    await shell.run("kubectl", ["create", "namespace", NAMESPACE]);
    steps.shown(`kubectl create namespace ${NAMESPACE}`, "");
    steps.shown(`fjord offload ${NAMESPACE}`, await shell.run("fjord", ["offload", NAMESPACE]));
    const manifest = JSON.stringify(helloDeployment(4));
    steps.shown("kubectl apply -f hello.yaml", await shell.run("kubectl", ["apply", "-f", "-"], manifest));
    await shell.run("kubectl", [...inNamespace, "rollout", "status", "deployment/hello", "--timeout=120s"]);
    const columns = "custom-columns=NAME:.metadata.name,STATUS:.status.phase,NODE:.spec.nodeName";
    const pods = await shell.run("kubectl", [...inNamespace, "get", "pods", "-o", columns]);
    steps.shown(`kubectl -n ${NAMESPACE} get pods -o wide`, pods);
  });
  if (!containers) return;
  await steps.step("logs, from both", async () => {
    const query = ["logs", "-l", "app=hello", "--prefix", "--tail=1"];
    steps.shown(`kubectl -n ${NAMESPACE} ${query.join(" ")}`, await shell.run("kubectl", [...inNamespace, ...query]));
  });
}

/** The bed goes, and the logs with it: the end of what the agents wrote is kept. */
function lastWords(bed: Bed): string {
  const agents = bed.processes.filter(({ name }) => name === "fjord-agent");
  return agents.map((agent) => `  ${agent.record.site}:\n${agent.logTail(5).replace(/^/gm, "    ")}`).join("\n");
}
