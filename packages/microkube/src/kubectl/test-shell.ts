import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Site } from "@fjord/testbed";
import type { Step } from "./chapter.ts";
import { normalOutput } from "./normal-output.ts";

export interface ShellOptions {
  readonly site: Site;
  /** Made, and has the files of the chapter. */
  readonly directory: string;
  readonly namespace: string;
  readonly files: Readonly<Record<string, string>>;
  /** What its commands call by name besides the machine's own. */
  readonly programs: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
}

const PATIENCE_MS = 180_000;

/** A user's shell at one site. */
export class Shell {
  readonly #options: ShellOptions;

  private constructor(options: ShellOptions) {
    this.#options = options;
  }

  static async open(options: ShellOptions): Promise<Shell> {
    const { directory, files, site, programs } = options;
    const bin = join(directory, ".bin");
    await mkdir(bin, { recursive: true });
    for (const [name, file] of Object.entries(programs)) await symlink(file, join(bin, name));
    const kubeconfig = await readFile(site.kubeconfig, "utf8");
    await writeFile(join(directory, ".kubeconfig"), kubeconfig, { mode: 0o600 });
    for (const [name, content] of Object.entries(files)) {
      await mkdir(join(directory, name, ".."), { recursive: true });
      await writeFile(join(directory, name), content);
    }
    return new Shell(options);
  }

  /** What the user sees, and the exit code. */
  async run({ command, compare }: Step): Promise<string> {
    const { directory, site, namespace, environment } = this.#options;
    const child = spawn("sh", ["-c", command], {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
      // Of a session that hangs, what it has said is told.
      timeout: PATIENCE_MS,
      env: {
        PATH: `${join(directory, ".bin")}:${process.env.PATH}`,
        HOME: join(directory, "..", `home-${site.name}`),
        KUBECONFIG: join(directory, ".kubeconfig"),
        NAMESPACE: namespace,
        NODE: `${site.name}-simulated-1`,
        OTHER_NODE: `${site.name}-simulated-2`,
        PINNED: JSON.stringify({ spec: { nodeSelector: { "kubernetes.io/hostname": `${site.name}-simulated-1` } } }),
        PROCESS_NODE: `${site.name}-process`,
        SITE: site.name,
        TZ: "UTC",
        ...environment,
      },
    });
    const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    if (compare === "nothing") return "";
    const words = { site: site.name, server: site.config.server };
    return [arranged(normalOutput(out, words), compare), arranged(normalOutput(error, words), compare), `exit ${code}`]
      .filter((part) => part !== "")
      .join("\n");
  }
}

function arranged(output: string, compare: Step["compare"]): string {
  const lines = output.trimEnd().split("\n");
  if (compare === "sorted") return lines.sort().join("\n");
  return compare === "last" ? (lines.at(-1) ?? "") : lines.join("\n");
}
