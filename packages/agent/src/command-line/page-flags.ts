import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { PageListenUnsafe } from "../page/errors.ts";
import type { PageSettings } from "../page/page-options.ts";
import { InvalidAgentOption } from "./errors.ts";
import { listenOption } from "./option-values.ts";

export interface PageFlags {
  readonly pageListen: string;
  readonly pageActions: boolean;
  readonly pageHost: string[];
  readonly pageTlsCert?: string;
  readonly pageTlsKey?: string;
  readonly pageDemo?: string;
  readonly pageFiles?: string;
}

const several = (value: string, before: string[]) => [...before, value];

export function addPageOptions(command: Command): Command {
  return command
    .option("--page-listen <host:port>", "where the site's page is served; `off` for nowhere", "127.0.0.1:7446")
    .option("--page-actions", "let viewers of the page change things, as far as RBAC lets them", false)
    .option(
      "--page-host <name>",
      "name that the page may be asked for by, beside addresses; several times",
      several,
      [],
    )
    .option("--page-tls-cert <file>", "certificate of the page; needed where it is served beyond this machine")
    .option("--page-tls-key <file>", "its key")
    .option("--page-demo <url>", "where a demo takes the wish to cut a site off: adds that to the page")
    .option("--page-files <folder>", "the built files of the page (default: beside the program)");
}

export async function pageSettings(flags: PageFlags): Promise<PageSettings | undefined> {
  if (flags.pageListen === "off") return undefined;
  const listen = listenOption("--page-listen", flags.pageListen);
  const { pageTlsCert, pageTlsKey, pageDemo } = flags;
  if ((pageTlsCert === undefined) !== (pageTlsKey === undefined))
    throw new InvalidAgentOption({
      option: "--page-tls-cert",
      value: pageTlsCert ?? "left out",
      reason: "a certificate and its key are needed together",
    });
  if (pageTlsCert === undefined && !isLoopback(listen.host)) throw new PageListenUnsafe({ address: flags.pageListen });
  if (pageDemo !== undefined && !URL.canParse(pageDemo))
    throw new InvalidAgentOption({ option: "--page-demo", value: pageDemo, reason: "it must be a URL" });
  const tls =
    pageTlsCert !== undefined && pageTlsKey !== undefined
      ? { cert: await readFile(pageTlsCert, "utf8"), key: await readFile(pageTlsKey, "utf8") }
      : undefined;
  return {
    listen,
    hosts: flags.pageHost,
    actions: flags.pageActions,
    files: flags.pageFiles ?? builtPage(),
    ...(tls !== undefined && { tls }),
    ...(pageDemo !== undefined && { demo: pageDemo }),
  };
}

/** Beside the bundled program; a program that runs from source finds what `npm run build` made. */
function builtPage(): string {
  const file = import.meta.filename;
  return join(dirname(file), file.endsWith(".ts") ? "../../../../dist/agent/page" : "page");
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
