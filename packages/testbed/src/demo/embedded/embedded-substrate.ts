import { once } from "node:events";
import { createServer } from "node:net";
import type { Clock } from "@fjord/base";
import { which } from "../../binaries/find.ts";
import { FRONT_PORT } from "../application.ts";
import { CLOUD, type DemoSitePlan } from "../demo-plan.ts";
import { DemoPortTaken } from "../errors.ts";
import type { Substrate, SubstrateStart } from "../substrate.ts";
import { MicroSite } from "./micro-site.ts";

export interface EmbeddedSubstrateOptions {
  readonly directory: string;
  readonly plans: readonly DemoSitePlan[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

/** Sites that need nothing but Node: a control plane, a node and an agent in one process, pods that are processes. */
export class EmbeddedSubstrate implements Substrate {
  readonly title = "five sites";
  /** Their agents carry connections unasked. */
  readonly peering = [];
  readonly sites: readonly MicroSite[];
  readonly kubectl: string | undefined;

  constructor({ directory, plans, env, clock }: EmbeddedSubstrateOptions) {
    this.sites = plans.map((plan) => new MicroSite(plan, directory, clock));
    this.kubectl = which("kubectl", env);
  }

  get nodeAddress(): string {
    return this.sites.find(({ name }) => name === CLOUD)?.plan.address ?? "";
  }

  async start(options: SubstrateStart): Promise<void> {
    await requireFree(this.nodeAddress, FRONT_PORT);
    await Promise.all(
      this.sites.map(async (site) => {
        await site.start(options);
        options.told(`${site.name} is there`);
      }),
    );
  }

  /** As the cloud itself says. */
  async wayToCloud(): Promise<readonly string[]> {
    return [];
  }

  /** All of them, also where one resists: the first that did is told. */
  async remove(): Promise<void> {
    const results = await Promise.allSettled(this.sites.map((site) => site.remove()));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

/** What a site itself listens on it tells by ending; a port of a Service that is taken is only seen by nobody answering. */
async function requireFree(host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw new DemoPortTaken({ address: `${host}:${port}` }, { cause: error });
  }
  const closed = once(server, "close");
  server.close();
  await closed;
}
