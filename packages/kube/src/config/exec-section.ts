import type { CredentialSources } from "./credentials.ts";
import { type ExecApiVersion, type ExecCluster, execApiVersions } from "./exec-credential.ts";
import { ExecPlugin } from "./exec-plugin.ts";
import type { Section } from "./section.ts";

const interactiveModes = ["Never", "IfAvailable", "Always"] as const;
const alone = 60_000;
const withSomeone = 300_000;

/** Checks `users[].user.exec` and makes the plugin; nothing runs before a credential is asked for. */
export function execPluginOf(section: Section, cluster: ExecCluster, sources: CredentialSources): ExecPlugin {
  const apiVersion = resolveApiVersion(section);
  const command = section.string("command");
  if (command === undefined) throw section.wrong("command", "missing");
  const interactive = sources.interactive ?? false;
  const installHint = section.string("installHint");
  return new ExecPlugin({
    where: section.where("command"),
    apiVersion,
    // Only a path is relative to the kubeconfig; a bare name is for PATH.
    command: /[\\/]/.test(command) ? (section.filePath("command") ?? command) : command,
    args: section.strings("args"),
    env: resolveEnv(section),
    interactiveMode: resolveInteractiveMode(section, apiVersion),
    ...(installHint === undefined ? {} : { installHint }),
    ...(section.boolean("provideClusterInfo") ? { cluster } : {}),
    baseEnv: sources.env,
    interactive,
    timeoutMs: sources.execTimeoutMs ?? (interactive ? withSomeone : alone),
    clock: sources.clock,
  });
}

function resolveApiVersion(section: Section): ExecApiVersion {
  const found = section.string("apiVersion");
  if (found === undefined) throw section.wrong("apiVersion", `missing, expected ${execApiVersions.join(" or ")}`);
  const known = execApiVersions.find((version) => version === found);
  if (known === undefined)
    throw section.wrong("apiVersion", `"${found}" is not supported, expected ${execApiVersions.join(" or ")}`);
  return known;
}

function resolveInteractiveMode(section: Section, apiVersion: ExecApiVersion): (typeof interactiveModes)[number] {
  const found = section.string("interactiveMode");
  if (found === undefined) {
    if (apiVersion === "client.authentication.k8s.io/v1beta1") return "IfAvailable";
    throw section.wrong("interactiveMode", `missing, and ${apiVersion} needs it: ${interactiveModes.join(", ")}`);
  }
  const known = interactiveModes.find((mode) => mode === found);
  if (known === undefined)
    throw section.wrong("interactiveMode", `"${found}" is not one of ${interactiveModes.join(", ")}`);
  return known;
}

function resolveEnv(section: Section): Record<string, string> {
  const entries = section.sections("env").map((entry): [string, string] => {
    const name = entry.string("name");
    if (name === undefined) throw entry.wrong("name", "missing");
    return [name, entry.string("value") ?? ""];
  });
  return Object.fromEntries(entries);
}
