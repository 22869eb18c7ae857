import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ClusterConfig } from "@fjord/kube";
import { kubeconfigOf } from "@fjord/kube";
import { parse, stringify } from "yaml";
import { DemoStepFailed } from "./errors.ts";

export interface DemoShellOptions {
  readonly directory: string;
  /** By the name of the context; the first is the one in use. */
  readonly clusters: Readonly<Record<string, ClusterConfig>>;
  readonly kubectl: string;
  readonly signal: AbortSignal;
}

const fjordSource = fileURLToPath(new URL("../../../cli/src/cli.ts", import.meta.url));

/** One kubeconfig with a context for each site, and `kubectl` and `fjord` beside it: what the reader is given to play with. */
export class DemoShell {
  readonly #options: DemoShellOptions;

  constructor(options: DemoShellOptions) {
    this.#options = options;
  }

  /** A file to source: afterwards the commands that the demo shows work as they stand. */
  get file(): string {
    return join(this.#options.directory, "env");
  }

  get #kubeconfig(): string {
    return join(this.#options.directory, "kubeconfig");
  }

  get #programs(): string {
    return join(this.#options.directory, "bin");
  }

  async write(): Promise<void> {
    const { clusters, kubectl } = this.#options;
    await writeFile(this.#kubeconfig, await mergedKubeconfig(clusters), { mode: 0o600 });
    await mkdir(this.#programs, { recursive: true });
    await symlink(kubectl, join(this.#programs, "kubectl"));
    const script = `#!/bin/sh\nexec ${quoted(process.execPath)} ${quoted(fjordSource)} "$@"\n`;
    await writeFile(join(this.#programs, "fjord"), script, { mode: 0o755 });
    const lines = [
      `export KUBECONFIG=${quoted(this.#kubeconfig)}`,
      `case ":$PATH:" in *:${this.#programs}:*) ;; *) PATH=${quoted(this.#programs)}:$PATH ;; esac`,
    ];
    await writeFile(this.file, `${lines.join("\n")}\n`, { mode: 0o600 });
  }

  /** Runs `kubectl` or `fjord` as the reader would, and gives what it printed. */
  run(program: "kubectl" | "fjord", args: readonly string[], input?: string): Promise<string> {
    const { kubectl, signal } = this.#options;
    const [file, ...first] = program === "kubectl" ? [kubectl] : [process.execPath, fjordSource];
    const env = { ...process.env, KUBECONFIG: this.#kubeconfig };
    return new Promise((resolve, reject) => {
      const child = execFile(file as string, [...first, ...args], { env, signal }, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        if (signal.aborted) return reject(error);
        const status = error.code ?? error.signal ?? "an error";
        const command = [program, ...args.slice(0, 2)].join(" ");
        reject(new DemoStepFailed({ command, status, output: stderr.trim() }, { cause: error }));
      });
      child.stdin?.end(input);
    });
  }
}

async function mergedKubeconfig(clusters: Readonly<Record<string, ClusterConfig>>): Promise<string> {
  const each = await Promise.all(
    Object.entries(clusters).map(async ([name, config]) => parse(await kubeconfigOf(config, name)) as Kubeconfig),
  );
  const all = {
    ...(each[0] as Kubeconfig),
    clusters: each.flatMap(({ clusters }) => clusters),
    users: each.flatMap(({ users }) => users),
    contexts: each.flatMap(({ contexts }) => contexts),
  };
  return stringify(all, { lineWidth: 0 });
}

interface Kubeconfig {
  readonly clusters: readonly unknown[];
  readonly users: readonly unknown[];
  readonly contexts: readonly unknown[];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
