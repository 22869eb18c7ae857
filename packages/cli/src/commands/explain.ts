import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { AmbiguousTarget } from "../errors.ts";
import { type Explanation, explainPod } from "../explain/explain-pod.ts";
import { podFacts, siteFacts } from "../explain/pod-facts.ts";
import { formatValue, type Output, outputOption } from "../output/format.ts";
import { shownInLine } from "../output/terminal-text.ts";
import { podsOf } from "../place/workload-pods.ts";
import { workloadReference } from "../place/workload-reference.ts";

interface ExplainFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly output: Output;
}

export function addExplain(program: Command, context: CommandContext): void {
  const command = program
    .command("explain")
    .description("say why a pod is where it is, or why it is pending")
    .argument("<target...>", "a pod, or a workload as deployment/web: then each of its pods");
  outputOption(clusterOptions(command).option("-n, --namespace <name>", "namespace (default: the context's)")).action(
    (target: readonly string[], flags: ExplainFlags) => explain(target, flags, context),
  );
}

async function explain(target: readonly string[], flags: ExplainFlags, context: CommandContext): Promise<void> {
  const { signal, clock, print } = context;
  const reference = workloadReference(target);
  await using client = await connect(flags, context);
  const namespace = flags.namespace ?? client.namespace;
  const pods = await podsOf(client, reference, namespace, signal);
  if (pods.length === 0)
    throw new AmbiguousTarget({
      target: target.join(" "),
      reason: `it has no pods in namespace ${namespace}; \`kubectl describe\` says why it makes none`,
    });
  const site = await siteFacts(client, pods, signal);
  const facts = await Promise.all(pods.map((pod) => podFacts(client, pod, site, clock.now(), signal)));
  const all = facts.map(explainPod);
  const value = reference.kind.kind === "Pod" ? all[0] : { items: all };
  if (flags.output.format === "name") return print(all.map(({ pod }) => `pod/${pod}\n`).join(""));
  print(
    (await formatValue(value, flags.output, context.isTerminal)) ??
      all.map((each) => inWords(each, context)).join("\n"),
  );
}

function inWords({ pod, namespace, because, advice }: Explanation, { paint }: CommandContext): string {
  const lines = [
    ...because.map((sentence) => `  ${shownInLine(sentence)}`),
    ...advice.map((sentence) => `  ${paint("yellow", "What to do:")} ${shownInLine(sentence)}`),
  ];
  return `${paint("bold", `Pod ${namespace}/${pod}`)}\n${lines.join("\n")}\n`;
}
