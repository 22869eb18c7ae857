import { createServer, request, type Server } from "node:http";
import { describeError, FjordError } from "@fjord/base";
import { ControlError, NoSuchPathError, NotExposedError, RelayListenError } from "../errors.ts";
import { decode, encode } from "./encoding.ts";
import type { LaneShape } from "./lane.ts";
import type { CutOptions, Direction, LaneStatus, NetworkControl } from "./network.ts";
import type { Endpoint } from "./relay.ts";

/** What each operation is for, as in "cannot ...". */
const tasks = {
  cut: "cut the network between sites",
  heal: "heal the network between sites",
  shape: "change the network between sites",
  reset: "reset the network between sites",
  expose: "expose an address to another site",
  unexpose: "take back what was exposed to another site",
  status: "look at the network between sites",
} as const;
type Operation = keyof typeof tasks;
const operations = Object.keys(tasks) as Operation[];

/** The errors that an operation is known to throw, so that a caller in another process meets them as they are. */
const thrown = [NoSuchPathError, NotExposedError, RelayListenError];

/**
 * Serves a network's operations on a unix socket: POST /OPERATION with the arguments as a JSON array. `changed` is called
 * after each of them that may have changed something, before it is answered.
 */
export function controlServer(network: NetworkControl, changed: () => Promise<void> = async () => {}): Server {
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
      const result = await call.apply(network, decode(body) as unknown[]);
      if (operation !== "status") await changed();
      answer(200, { result });
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

  async unexpose(from: string, to: string, target: Endpoint): Promise<void> {
    await this.#call("unexpose", from, to, target);
  }

  async status(): Promise<LaneStatus[]> {
    return (await this.#call("status")) as LaneStatus[];
  }

  /** The network belongs to the other process, and stays. */
  async close(): Promise<void> {}

  async #call(operation: Operation, ...args: unknown[]): Promise<unknown> {
    const values = { task: tasks[operation], socket: this.#socket };
    const { status, text } = await post(this.#socket, `/${operation}`, encode(args)).catch((error: Error) => {
      throw new ControlError({ ...values, reason: error.message }, { cause: error });
    });
    const answer = decode(text) as { result?: unknown; message?: string; code?: string };
    if (status === 200) return answer.result;
    const { code, message = text } = answer;
    throw code === undefined ? new ControlError({ ...values, reason: message }) : revived(code, message);
  }
}

/** An error of the class that the other process threw: callers look for it, and it has the advice. */
function revived(code: string, message: string): FjordError {
  const error = new FjordError(code, message);
  const type = thrown.find((each) => each.code === code);
  return type === undefined ? error : Object.setPrototypeOf(error, type.prototype);
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
