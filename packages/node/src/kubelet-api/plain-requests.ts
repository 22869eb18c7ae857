import type { ServerResponse } from "node:http";
import { type Clock, describeError, type Logger } from "@fjord/base";
import { sendJson, sendText } from "./answers.ts";
import type { KubeletBackend } from "./backend.ts";
import { InvalidRequest, NoSuchPath } from "./errors.ts";
import { checkContainer, findPod } from "./find-container.ts";
import { processMetrics } from "./process-metrics.ts";
import { failedResourceMetrics, resourceMetrics } from "./resource-metrics.ts";
import type { Route } from "./route.ts";
import { sendLog } from "./send-log.ts";
import type { Summary } from "./summary.ts";

export interface PlainRequestOptions {
  backend: KubeletBackend;
  log: Logger;
  clock: Clock;
  stallMs: number;
  /** What `/configz` shows. */
  configuration?: () => unknown;
  /** More lines for `/metrics`. */
  metrics?: () => string | Promise<string>;
  /** What this program has logged of late; without it there is no such log. */
  ownLog?: () => string;
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Answers requests that are no streams. */
export class PlainRequests {
  readonly #options: PlainRequestOptions;

  constructor(options: PlainRequestOptions) {
    this.#options = options;
  }

  async answer(route: Route, response: ServerResponse, signal: AbortSignal, streams: number): Promise<void> {
    const { backend } = this.#options;
    switch (route.kind) {
      case "logs": {
        checkContainer(findPod(backend, route.address), route.address.container);
        const chunks = await backend.logs(route.address, route.request, signal);
        return await sendLog(response, chunks, this.#options);
      }
      case "pods":
        return sendJson(response, podList(backend.pods()));
      case "runningPods":
        return sendJson(response, podList(this.#running()));
      case "summary":
        return sendJson(response, trimmed(await backend.summary(signal), route.onlyCpuAndMemory));
      case "resourceMetrics":
        return sendText(response, 200, await this.#resourceMetrics(signal), METRICS_TYPE);
      case "metrics":
        return sendText(response, 200, await this.#metrics(streams), METRICS_TYPE);
      case "health":
        return this.#sendHealth(route.check, response);
      case "configz":
        if (this.#options.configuration === undefined) throw new NoSuchPath({});
        return sendJson(response, { kubeletconfig: this.#options.configuration() });
      case "ownLog":
        if (this.#options.ownLog === undefined) throw new NoSuchPath({});
        return sendText(response, 200, this.#options.ownLog());
      default:
        throw new InvalidRequest({ problem: "Upgrade request required" });
    }
  }

  #running() {
    return this.#options.backend.pods().filter((pod) => pod.status?.phase === "Running");
  }

  #sendHealth(check: string, response: ServerResponse): void {
    try {
      if (check === "" || check === "syncloop") this.#options.backend.healthy();
      sendText(response, 200, "ok");
    } catch (error) {
      sendText(response, 500, `[-]syncloop failed: ${describeError(error)}\nhealthz check failed\n`);
    }
  }

  async #resourceMetrics(signal: AbortSignal): Promise<string> {
    try {
      return resourceMetrics(await this.#options.backend.summary(signal));
    } catch (error) {
      this.#options.log.warn("cannot measure usage", { error: describeError(error) });
      return failedResourceMetrics();
    }
  }

  async #metrics(streams: number): Promise<string> {
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const own = processMetrics({
      residentBytes: rss,
      heapBytes: heapUsed,
      cpuMicroseconds: user + system,
      startedAt: this.#options.clock.now() - process.uptime() * 1000,
      pods: this.#running().length,
      streams,
    });
    return own + ((await this.#options.metrics?.()) ?? "");
  }
}

function podList(items: readonly unknown[]) {
  return { kind: "PodList", apiVersion: "v1", metadata: {}, items };
}

/** Without what takes long to measure, for those who ask only for processors and memory. */
function trimmed(summary: Summary, onlyCpuAndMemory: boolean): Summary {
  if (!onlyCpuAndMemory) return summary;
  const { nodeName, startTime, cpu, memory } = summary.node;
  return {
    node: { nodeName, startTime, ...(cpu && { cpu }), ...(memory && { memory }) },
    pods: summary.pods.map(({ podRef, startTime, containers, cpu, memory }) => ({
      podRef,
      startTime,
      containers: containers.map(({ name, startTime, cpu, memory }) => ({
        name,
        startTime,
        ...(cpu && { cpu }),
        ...(memory && { memory }),
      })),
      ...(cpu && { cpu }),
      ...(memory && { memory }),
    })),
  };
}
