/** What the server counts of itself, in Prometheus' text. */
export class ServerMetrics {
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, { counts: number[]; sum: number }>();
  readonly #gauges = new Map<string, { help: string; value: () => number }>();

  count(
    labels: { verb: string; group: string; version: string; resource: string; code: number },
    seconds: number,
  ): void {
    const { verb, group, version, resource, code } = labels;
    const of = `group="${escaped(group)}",resource="${escaped(resource)}",verb="${verb.toUpperCase()}",version="${escaped(version)}"`;
    // Paths that nobody serves must not fill the memory.
    const request = `code="${code}",${of}`;
    if (this.#requests.size < 5000 || this.#requests.has(request)) {
      this.#requests.set(request, (this.#requests.get(request) ?? 0) + 1);
    }
    if (verb === "watch" || verb === "connect") return;
    const key = `verb="${verb.toUpperCase()}"`;
    let duration = this.#durations.get(key);
    if (duration === undefined) {
      if (this.#durations.size > 100) return;
      duration = { counts: new Array(buckets.length + 1).fill(0), sum: 0 };
      this.#durations.set(key, duration);
    }
    const at = buckets.findIndex((bound) => seconds <= bound);
    const index = at < 0 ? buckets.length : at;
    duration.counts[index] = (duration.counts[index] ?? 0) + 1;
    duration.sum += seconds;
  }

  gauge(name: string, help: string, value: () => number): void {
    this.#gauges.set(name, { help, value });
  }

  text(): string {
    const lines = [
      "# HELP apiserver_request_total Counter of apiserver requests broken out for each verb, group, version, resource and code.",
      "# TYPE apiserver_request_total counter",
      ...[...this.#requests].map(([labels, count]) => `apiserver_request_total{${labels}} ${count}`),
      "# HELP apiserver_request_duration_seconds Response latency distribution in seconds for each verb.",
      "# TYPE apiserver_request_duration_seconds histogram",
    ];
    for (const [labels, { counts, sum }] of this.#durations) {
      let total = 0;
      for (const [index, count] of counts.entries()) {
        total += count;
        const bound = buckets[index] ?? "+Inf";
        lines.push(`apiserver_request_duration_seconds_bucket{${labels},le="${bound}"} ${total}`);
      }
      lines.push(`apiserver_request_duration_seconds_sum{${labels}} ${sum}`);
      lines.push(`apiserver_request_duration_seconds_count{${labels}} ${total}`);
    }
    for (const [name, { help, value }] of this.#gauges) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value()}`);
    }
    return `${lines.join("\n")}\n`;
  }
}

const buckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60];

const escaped = (text: string) => text.replaceAll(/[\\"\n]/g, "_");
