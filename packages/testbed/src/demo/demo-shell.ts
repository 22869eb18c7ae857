import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterConfig } from "@fjord/kube";
import { kubeconfigOf } from "@fjord/kube";
import { parse, stringify } from "yaml";
import { DemoStepFailed } from "./errors.ts";

export interface DemoShellOptions {
  readonly directory: string;
  /** How to reach each, by the name of its context; the first is the one in use. */
  readonly contexts: Readonly<Record<string, () => ClusterConfig | Promise<ClusterConfig>>>;
  /** A real one, where there is one; asked when the shell is written. */
  readonly kubectl: () => string | undefined;
  /** Programs for Node: a file, and its first arguments; asked when the shell is written. */
  readonly commands: () => Readonly<Record<string, readonly string[]>>;
  /** Variables for what is run here. @default those of this process */
  readonly env?: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

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

  /** With a context for each site. */
  get kubeconfig(): string {
    return join(this.#options.directory, "kubeconfig");
  }

  get #programs(): string {
    return join(this.#options.directory, "bin");
  }

  async write(): Promise<void> {
    const { contexts, commands } = this.#options;
    const kubectl = this.#options.kubectl();
    await writeFile(this.kubeconfig, await mergedKubeconfig(contexts), { mode: 0o600 });
    await mkdir(this.#programs, { recursive: true });
    if (kubectl !== undefined) await symlink(kubectl, join(this.#programs, "kubectl"));
    for (const [name, words] of Object.entries(commands())) {
      const script = `#!/bin/sh\nexec ${[process.execPath, ...words].map(quoted).join(" ")} "$@"\n`;
      await writeFile(join(this.#programs, name), script, { mode: 0o755 });
    }
    const lines = [
      `export KUBECONFIG=${quoted(this.kubeconfig)}`,
      `case ":$PATH:" in *:${this.#programs}:*) ;; *) PATH=${quoted(this.#programs)}:$PATH ;; esac`,
    ];
    await writeFile(this.file, `${lines.join("\n")}\n`, { mode: 0o600 });
  }

  /** What was deployed, for the reader to look at: plain Kubernetes. */
  manifest(name: string, objects: readonly object[]): void {
    const text = objects.map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
    writeFileSync(join(this.#options.directory, name), text);
  }

  /** Runs a program of the shell as the reader would, and gives what it printed. */
  run(program: string, args: readonly string[], input?: string): Promise<string> {
    const { signal } = this.#options;
    const env = { ...(this.#options.env ?? process.env), KUBECONFIG: this.kubeconfig };
    return new Promise((resolve, reject) => {
      const file = join(this.#programs, program);
      const child = execFile(file, [...args], { env, signal }, (error, stdout, stderr) => {
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

async function mergedKubeconfig(contexts: DemoShellOptions["contexts"]): Promise<string> {
  const each = await Promise.all(
    Object.entries(contexts).map(
      async ([name, config]) => parse(await kubeconfigOf(await config(), name)) as Kubeconfig,
    ),
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
