import { spawn } from "node:child_process";
import { loginPath, requestLogin } from "@fjord/agent/page-login";
import { AGENT_NAMESPACE } from "@fjord/api";
import { aborted } from "@fjord/base";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { InvalidValue } from "../errors.ts";
import { openBrowser } from "../page/browser.ts";
import { openWayToPage, pageAnswers } from "../page/way-to-page.ts";

interface DashboardFlags extends ClusterFlags {
  readonly url?: string;
  readonly port: string;
  readonly browser: boolean;
  readonly agentNamespace: string;
}

export function addDashboard(program: Command, context: CommandContext): void {
  const command = program
    .command("dashboard")
    .description("open the site's page in a browser, logged in as you are in the cluster")
    .option("--url <url>", "where the page is (default: in the agent's pod, or else on this machine at port 7446)")
    .option("--port <port>", "port of this machine that leads to the agent's pod; 0 for any that is free", "0")
    .option("--no-browser", "only print the link");
  clusterOptions(command)
    .option("--agent-namespace <name>", "namespace of the agent", AGENT_NAMESPACE)
    .action((flags: DashboardFlags) => dashboard(flags, context));
}

async function dashboard(flags: DashboardFlags, context: CommandContext): Promise<void> {
  const { signal, print, note, isTerminal, env } = context;
  const localPort = portOf(flags.port);
  await using client = await connect(flags, context);
  await using way = await openWayToPage(client, {
    namespace: flags.agentNamespace,
    localPort,
    signal,
    ...(flags.url !== undefined && { url: urlOf(flags.url) }),
  });
  await pageAnswers(way.url, signal);
  const link = way.url + loginPath(await requestLogin(client, signal));
  print(`${link}\n`);
  note("the link works once, within two minutes\n");
  if (flags.browser && isTerminal) await openBrowser(spawn, link, env);
  if (!way.isForwarded) return;
  note("the page is reached as long as this runs; Ctrl-C ends it\n");
  await aborted(signal);
}

function portOf(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw new InvalidValue({ option: "--port", value, reason: "it must be a port" });
  return Number(value);
}

function urlOf(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidValue({ option: "--url", value, reason: "it must be a URL such as http://127.0.0.1:7446" });
  return url.origin;
}
