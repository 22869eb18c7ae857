import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "@fjord/testbed/testing";

const rules = fileURLToPath(new URL("../../../deploy/prometheus/fjord.rules.yaml", import.meta.url));

/** By FJORD_PROMETHEUS, or from PATH. */
const program = process.env.FJORD_PROMETHEUS ?? "prometheus";

/** For node:test's `skip`: false where there is a Prometheus to scrape with. */
export function prometheusSkip(): string | false {
  if (spawnSync(program, ["--version"]).error === undefined) return false;
  return "there is no prometheus (Debian package prometheus, or FJORD_PROMETHEUS)";
}

/** A real Prometheus that scrapes agents, with the rules of this repository. */
export class TestPrometheus implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #url: string;

  private constructor(started: ChildProcess, folder: string, url: string) {
    this.#process = started;
    this.#folder = folder;
    this.#url = url;
  }

  /** `targets`: base URLs of agents' metrics. */
  static async start(targets: readonly string[]): Promise<TestPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), "fjord-prometheus-"));
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [rules],
      scrape_configs: [
        { job_name: "fjord", static_configs: [{ targets: targets.map((target) => new URL(target).host) }] },
      ],
    };
    const file = join(folder, "prometheus.yml");
    await writeFile(file, JSON.stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`];
    const started = spawn(program, args, { stdio: "ignore" });
    return new TestPrometheus(started, folder, `http://${address}`);
  }

  /** What it answers to a query of its API, once that is what is wanted. */
  async until<T>(path: string, isWanted: (data: T) => boolean): Promise<T> {
    for (;;) {
      const answer = await fetch(`${this.#url}/api/v1/${path}`).catch(() => undefined);
      const { data } = answer?.ok ? ((await answer.json()) as { data: T }) : {};
      if (data !== undefined && isWanted(data)) return data;
      if (this.#process.exitCode !== null) throw new Error(`prometheus ended with ${this.#process.exitCode}`);
      await pause(200);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#process.exitCode === null ? once(this.#process, "exit") : undefined;
    this.#process.kill();
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
