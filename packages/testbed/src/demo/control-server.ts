import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { describeError } from "@fjord/base";
import { BERTHS, controlAddress } from "./demo-plan.ts";
import { DemoNoRoom } from "./errors.ts";

/** Cuts a site off or brings it back; says why where it cannot. */
export type Reach = (site: string, cut: boolean) => Promise<string | undefined>;

const LONGEST_WISH = 4096;

/** Takes the wish to cut a site off, from a page or a command; that it listens also keeps the berth from other demos. */
export class ControlServer implements AsyncDisposable {
  readonly berth: number;
  readonly #server: Server;
  /** Until there are sites, none can be cut off. */
  reach: Reach = async () => "the sites are not there yet";

  private constructor(berth: number, server: Server) {
    this.berth = berth;
    this.#server = server;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response));
  }

  /** In the first berth that is free. */
  static async open(): Promise<ControlServer> {
    for (let berth = 0; berth < BERTHS; berth++) {
      const server = createServer();
      const { host, port } = controlAddress(berth);
      try {
        server.listen(port, host);
        await once(server, "listening");
        return new ControlServer(berth, server);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      }
    }
    throw new DemoNoRoom({ berths: BERTHS });
  }

  get url(): string {
    const { host, port } = controlAddress(this.berth);
    return `http://${host}:${port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, why: string) => response.writeHead(status).end(`${why}\n`);
    // A page of somebody else's can send no JSON here without being asked first, and nobody answers that.
    if (request.method !== "POST" || request.headers["content-type"] !== "application/json")
      return void refuse(405, 'POST {"site": NAME, "cut": true or false} as application/json');
    let text = "";
    for await (const chunk of request) {
      text += String(chunk);
      if (text.length > LONGEST_WISH) return void refuse(413, "that is too long");
    }
    const { site, cut } = wishIn(text);
    if (site === undefined || cut === undefined) return void refuse(400, "site and cut are needed");
    const problem = await this.reach(site, cut).catch(describeError);
    if (problem !== undefined) return void refuse(409, problem);
    response.end(cut ? `${site} is cut off\n` : `${site} is connected again\n`);
  }
}

function wishIn(text: string): { site?: string; cut?: boolean } {
  try {
    const { site, cut } = JSON.parse(text) as { site?: unknown; cut?: unknown };
    return { ...(typeof site === "string" && { site }), ...(typeof cut === "boolean" && { cut }) };
  } catch {
    return {};
  }
}
