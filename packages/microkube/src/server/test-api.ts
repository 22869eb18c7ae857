import type { IncomingHttpHeaders } from "node:http";
import { Agent, type RequestOptions, request as sendRequest } from "node:https";
import type { ObjectMeta } from "@fjord/base";
import { type Microkube, type MicrokubeOptions, startMicrokube } from "../microkube.ts";

/** What tests look at in answers, as if all of it were there. */
export interface Json {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Required<Omit<ObjectMeta, "labels">> & {
    readonly labels: Record<string, string>;
    readonly continue: string;
    readonly remainingItemCount: number;
  };
  readonly items: readonly Json[];
  readonly data: Record<string, string>;
  readonly status: unknown;
  readonly reason: string;
  readonly message: string;
  readonly code: number;
  readonly details: unknown;
  readonly major: string;
  readonly versions: readonly unknown[];
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly shortNames: string[] }[];
  readonly groups: readonly { readonly name: string; readonly preferredVersion: { readonly version: string } }[];
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: Json }[];
}

export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
}

export interface Sent {
  readonly headers?: Record<string, string>;
  /** Objects are sent as JSON. */
  readonly body?: unknown;
}

/** A server without controllers, and raw requests to it. */
export class TestApi implements AsyncDisposable {
  readonly microkube: Microkube;
  readonly #agent: Agent;

  private constructor(microkube: Microkube) {
    this.microkube = microkube;
    const { clusterCa, admin } = microkube.credentials;
    this.#agent = new Agent({ keepAlive: true, ca: clusterCa.certificate, ...admin });
  }

  static async start(options: MicrokubeOptions = {}): Promise<TestApi> {
    return new TestApi(await startMicrokube({ controllers: false, scheduler: false, ...options }));
  }

  get requestOptions(): RequestOptions {
    const { hostname, port } = new URL(this.microkube.server);
    return { hostname, port, agent: this.#agent };
  }

  send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Answer> {
    const bytes = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const length = { "content-length": String(Buffer.byteLength(bytes ?? "")) };
    const type = bytes === undefined ? {} : { "content-type": "application/json", ...length };
    return new Promise((resolve, reject) => {
      const options = { ...this.requestOptions, method, path, headers: { ...type, ...headers } };
      const request = sendRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => {
          const { statusCode: code = 0, headers: answered } = response;
          resolve({ code, headers: answered, text, body: parsed(text) });
        });
        response.on("error", reject);
      });
      request.on("error", reject);
      request.end(bytes);
    });
  }

  get(path: string, headers?: Record<string, string>): Promise<Answer> {
    return this.send("GET", path, headers === undefined ? {} : { headers });
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.send("POST", path, { body });
  }

  patch(path: string, body: unknown, type = "merge-patch+json"): Promise<Answer> {
    return this.send("PATCH", path, { body, headers: { "content-type": `application/${type}` } });
  }

  /** The events of a watch, as they come. */
  async *watch(path: string, headers: Record<string, string> = {}): AsyncGenerator<{ type: string; object: Json }> {
    const response = await new Promise<AsyncIterable<string>>((resolve, reject) => {
      const options = { ...this.requestOptions, path, headers, agent: new Agent({ ...this.#agent.options }) };
      const request = sendRequest(options, (answer) => resolve(answer.setEncoding("utf8")));
      request.on("error", reject);
      request.end();
    });
    let rest = "";
    for await (const chunk of response) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    await this.microkube.close();
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return {} as unknown as Json;
  }
}
