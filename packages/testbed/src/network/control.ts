import { createServer, request, type Server } from "node:http";
import { describeError, FjordError } from "@fjord/base";
import { ControlError } from "../errors.ts";
import type { LaneShape } from "./lane.ts";
import type { CutOptions, Direction, LaneStatus, NetworkControl } from "./network.ts";
import type { Endpoint } from "./relay.ts";

const operations = ["cut", "heal", "shape", "reset", "expose", "status"] as const;
type Operation = (typeof operations)[number];

/** Serves a network's operations on a unix socket: POST /OPERATION with the arguments as a JSON array. */
export function controlServer(network: NetworkControl): Server {
  return createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const answer = (status: number, value: unknown) => {
      outgoing.writeHead(status, { "content-type": "application/json" }).end(encode(value));
    };
    const operation = operations.find((name) => incoming.url === `/${name}`);
    if (operation === undefined) return answer(404, { message: `no such operation: ${incoming.url}` });
    try {
      const call = network[operation] as (...args: unknown[]) => Promise<unknown>;
      answer(200, { result: await call.apply(network, decode(body) as unknown[]) });
    } catch (error) {
      answer(400, { message: describeError(error), ...(error instanceof FjordError && { code: error.code }) });
    }
  });
}

/** Drives a network that another process holds. */
export class NetworkClient implements NetworkControl {
  readonly #socket: string;

  constructor(socket: string) {
    this.#socket = socket;
  }

  async cut(from: string, to: string, options: CutOptions = {}): Promise<void> {
    await this.#call("cut", from, to, options);
  }

  async heal(from: string, to: string, options: Direction = {}): Promise<void> {
    await this.#call("heal", from, to, options);
  }

  async shape(from: string, to: string, shape: Partial<LaneShape>, options: Direction = {}): Promise<void> {
    await this.#call("shape", from, to, shape, options);
  }

  async reset(): Promise<void> {
    await this.#call("reset");
  }

  async expose(from: string, to: string, target: Endpoint, port = 0): Promise<Endpoint> {
    return (await this.#call("expose", from, to, target, port)) as Endpoint;
  }

  async status(): Promise<LaneStatus[]> {
    return (await this.#call("status")) as LaneStatus[];
  }

  /** The network belongs to the other process, and stays. */
  async close(): Promise<void> {}

  async #call(operation: Operation, ...args: unknown[]): Promise<unknown> {
    const { status, text } = await post(this.#socket, `/${operation}`, encode(args)).catch((error: Error) => {
      throw new ControlError({ operation, socket: this.#socket, reason: error.message }, { cause: error });
    });
    const answer = decode(text) as { result?: unknown; message?: string; code?: string };
    if (status === 200) return answer.result;
    throw new FjordError(answer.code ?? ControlError.code, answer.message ?? text);
  }
}

function post(socketPath: string, path: string, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path, method: "POST", agent: false, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer within 10 s")));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

// JSON has no infinity, which stands for a bandwidth without limit.
function encode(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Number.POSITIVE_INFINITY ? "Infinity" : each));
}

function decode(text: string): unknown {
  return JSON.parse(text, (_, each) => (each === "Infinity" ? Number.POSITIVE_INFINITY : each));
}
