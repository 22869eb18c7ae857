import { readFile } from "node:fs/promises";
import { defaultValues, type InstallValues, installation, installObjects, readValues } from "@fjord/agent";
import { AGENT_NAMESPACE, GUEST_PRIVILEGES, Site } from "@fjord/api";
import { describeError } from "@fjord/base";
import { Deployment, ifNotFound, isNotFound, type KubeClient } from "@fjord/kube";
import { type Command, Option } from "commander";
import { checkedImage, checkedNamespace } from "../command-line/checked-names.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { AgentOfMicro, HelmsInstallation, NoDeployment, UnknownValues, WrongUsage, WrongValues } from "../errors.ts";
import { refuseElsewhere } from "../installation/agents-namespace.ts";
import { awaitInstallation } from "../installation/await-installation.ts";
import { removeUnasked } from "../installation/remove-installation.ts";
import { isMicroSite } from "../micro/node-rights.ts";

interface InitFlags extends ClusterFlags {
  readonly namespace: string;
  readonly values?: string;
  readonly siteName?: string;
  readonly tier?: string;
  readonly endpoint: readonly string[];
  readonly image?: string;
  readonly replicas?: string;
  readonly serviceType?: string;
  readonly guestPrivilege: readonly string[];
  readonly networkPolicy: boolean;
  /** Left out: as it was, or as the values have it. */
  readonly gateway?: boolean;
  readonly gatewayNodeLabel?: string;
  readonly gatewayEndpoint?: string;
  readonly gatewayMetrics?: boolean;
  readonly dryRun: boolean;
  readonly wait: boolean;
  readonly timeout: string;
}

/** On the agent's Deployment: what it was installed with, for the next upgrade. */
const VALUES_ANNOTATION = "fjord.dev/install-values";
/** On all that Helm has made. */
const HELM_RELEASE = "meta.helm.sh/release-name";
const AGENT = "fjord-agent";
const several = (value: string, before: string[]) => [...before, value];

/** `init` and `upgrade`: the same objects, the second with the values that the first was given. */
export function addInit(program: Command, context: CommandContext): void {
  const init = program
    .command("init")
    .description("install Fjord into a cluster: its kinds, the agent's rights, and the agent as a pod");
  installOptions(init).action(async (flags: InitFlags) => {
    await install(flags, await valuesToStartFrom(flags, context), "installed", context);
  });
  const upgrade = program
    .command("upgrade")
    .description("bring what `fjord init` has installed to this program's version; what was said then still holds");
  installOptions(upgrade).action(async (flags: InitFlags) => {
    await using client = await connect(flags, context);
    const { tag } = defaultValues.image;
    const before = await installedValues(client, flags, context.signal);
    if (before.image.repository.includes("@") && flags.image === undefined)
      throw new WrongUsage({
        problem: `the image was named by its digest, ${imageOf(before)}: --image names the one of this version`,
      });
    await install(flags, { ...before, image: { ...before.image, tag } }, "upgraded", context);
  });
}

function installOptions(command: Command): Command {
  return clusterOptions(command)
    .option("--namespace <name>", "where the agent runs", AGENT_NAMESPACE)
    .option("--values <file>", "values as the chart has them, in YAML; options go before them")
    .option("--site-name <name>", "name of the site, such as lively-wave")
    .addOption(new Option("--tier <tier>", "what sort of place it is").choices(["cloud", "edge", "device"]))
    .option("--endpoint <url>", "where agents of other sites reach this one; several times", several, [])
    .option("--image <image>", `image of the agent (default: ${imageOf(defaultValues)})`)
    .option("--replicas <count>", "how many agents; one leads")
    .addOption(
      new Option("--service-type <type>", "how the agent is reached from outside").choices([
        "ClusterIP",
        "NodePort",
        "LoadBalancer",
      ]),
    )
    .addOption(
      new Option("--guest-privilege <name...>", "what guests may have beyond Kubernetes' baseline")
        .choices(GUEST_PRIVILEGES)
        .default([], "none"),
    )
    .option("--gateway", "run what carries links to pods of peers, as root on nodes' own networks")
    .option("--no-gateway", "run none, and take those away that an installation of before has")
    .option("--gateway-node-label <label>", "with --gateway: only nodes with this label carry links")
    .option(
      "--gateway-endpoint <host:port>",
      "with --gateway: where peers reach the node that does, such as '$(NODE_IP):51820'",
    )
    .option("--gateway-metrics", "with --gateway: serve its metrics at port 7449 of the node's address")
    .option("--no-gateway-metrics", "on the node's loopback alone (default)")
    .option("--no-network-policy", "without the policy that says who may reach the agent")
    .addOption(new Option("--dry-run", "print the manifests instead of applying them").default(false))
    .option("--no-wait", "return without waiting for an agent that leads, and for gateways")
    .option("--timeout <duration>", "how long to wait for all of it", "120s");
}

/** What an installation that is there already was told, so that another `init` changes only what it names. */
async function valuesToStartFrom(flags: InitFlags, context: CommandContext): Promise<InstallValues> {
  // It needs no cluster, and prints what a first installation would be.
  if (flags.dryRun) return defaultValues;
  await using client = await connect(flags, context);
  const key = { name: AGENT, namespace: checkedNamespace("--namespace", flags.namespace) };
  const found = await client.get(Deployment, key, { signal: context.signal }).catch(ifNotFound);
  if (found === undefined) return defaultValues;
  const values = valuesOn(found, flags);
  context.note("Fjord is installed here already: what no option names stays as it is\n");
  return values;
}

async function install(flags: InitFlags, base: InstallValues, done: string, context: CommandContext): Promise<void> {
  const { signal, clock, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  const namespace = checkedNamespace("--namespace", flags.namespace);
  if (flags.image !== undefined) checkedImage("--image", flags.image);
  const values = await valuesOf(flags, base);
  refuseIdleGatewayOptions(flags, values);
  checkedImage("the image", imageOf(values));
  const annotations = { [VALUES_ANNOTATION]: JSON.stringify(values) };
  // Of those that are printed, too: somebody else may apply them, and upgrade later.
  const objects = installation(namespace, values).map((object) =>
    object.kind === "Deployment" ? { ...object, metadata: { ...object.metadata, annotations } } : object,
  );
  if (flags.dryRun) {
    const { stringify } = await import("yaml");
    return print(
      objects.map((object) => `---\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`).join(""),
    );
  }
  await using client = await connect(flags, context);
  if (await isMicroSite(client, signal)) throw new AgentOfMicro({ server: client.transport.server });
  await refuseElsewhere(client, namespace, signal);
  const told = (line: string) => note(`${line}\n`);
  await installObjects(client, objects, { signal, told });
  await removeUnasked(client, namespace, objects, { signal, told });
  if (flags.wait) {
    const warned = (line: string) => context.warn(`${line}\n`);
    await awaitInstallation(client, { namespace, values, clock, signal, timeoutMs, told, warned });
    const { items } = await client.list(Site, { signal });
    const own = items.find(({ status }) => status?.role === "Self")?.metadata.name;
    return print(`Fjord ${done}${own === undefined ? "" : `: this is site ${own}`}\n`);
  }
  print(`Fjord ${done}\n`);
}

/** What would be kept, and do nothing until somebody has gateways run. */
function refuseIdleGatewayOptions(flags: InitFlags, { gateway }: InstallValues): void {
  if (gateway.enabled) return;
  const { gatewayNodeLabel, gatewayEndpoint, gatewayMetrics } = flags;
  const problem = (option: string) => `${option} is about gateways, and none would run: --gateway asks for them`;
  if (gatewayNodeLabel !== undefined) throw new WrongUsage({ problem: problem("--gateway-node-label") });
  if (gatewayEndpoint !== undefined) throw new WrongUsage({ problem: problem("--gateway-endpoint") });
  if (gatewayMetrics) throw new WrongUsage({ problem: problem("--gateway-metrics") });
}

async function valuesOf(flags: InitFlags, base: InstallValues): Promise<InstallValues> {
  const [, repository, tag] = /^(.+?)(?::([\w.-]+))?$/.exec(flags.image ?? "") ?? [];
  const said = {
    ...(flags.siteName !== undefined && { siteName: flags.siteName }),
    ...(flags.tier !== undefined && { tier: flags.tier }),
    ...(flags.endpoint.length > 0 && { endpoints: flags.endpoint }),
    ...(flags.replicas !== undefined && { replicas: Number(flags.replicas) }),
    ...(flags.guestPrivilege.length > 0 && { guestPrivileges: flags.guestPrivilege }),
    ...(!flags.networkPolicy && { networkPolicy: { enabled: false } }),
  };
  const gateway = {
    ...(flags.gateway !== undefined && { enabled: flags.gateway }),
    ...(flags.gatewayNodeLabel !== undefined && { nodeLabel: flags.gatewayNodeLabel }),
    ...(flags.gatewayEndpoint !== undefined && { endpoint: flags.gatewayEndpoint }),
    ...(flags.gatewayMetrics !== undefined && { metrics: { enabled: flags.gatewayMetrics } }),
  };
  const file = flags.values === undefined ? {} : await valuesFile(flags.values);
  const source = flags.values ?? "these options";
  try {
    const values = readValues({ gateway }, readValues({ ...file, ...said }, base));
    return {
      ...values,
      image: { ...values.image, ...(repository !== undefined && { repository }), ...(tag !== undefined && { tag }) },
      service: { ...values.service, ...(flags.serviceType !== undefined && { type: flags.serviceType }) },
    };
  } catch (error) {
    throw new WrongValues({ file: source, reason: describeError(error) });
  }
}

async function valuesFile(file: string): Promise<object> {
  const { parse } = await import("yaml");
  try {
    return (parse(await readFile(file, "utf8")) ?? {}) as object;
  } catch (error) {
    throw new WrongValues({ file, reason: describeError(error) });
  }
}

async function installedValues(client: KubeClient, flags: InitFlags, signal: AbortSignal): Promise<InstallValues> {
  const { namespace } = flags;
  try {
    return valuesOn(await client.get(Deployment, { name: AGENT, namespace }, { signal }), flags);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Where the kinds are, it runs in another way; where they are not, this says so.
    await listOrExplain(client, Site, signal);
    throw new NoDeployment({ server: client.transport.server, name: AGENT, namespace }, { cause: error });
  }
}

function valuesOn({ metadata }: Deployment, flags: InitFlags): InstallValues {
  const { name = "", namespace = "", annotations = {} } = metadata;
  const release = annotations[HELM_RELEASE];
  if (release !== undefined) throw new HelmsInstallation({ namespace, release });
  const said = annotations[VALUES_ANNOTATION];
  if (said === undefined && flags.values === undefined) throw new UnknownValues({ name, namespace });
  return readValues(JSON.parse(said ?? "{}"));
}

function imageOf({ image }: InstallValues): string {
  return `${image.repository}:${image.tag}`;
}
