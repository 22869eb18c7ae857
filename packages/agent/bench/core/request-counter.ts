import type { KubeClient } from "@fjord/kube";

/** Counts the requests that API servers have answered, by what they say of themselves. Watches and leases do not count. */
export class RequestCounter {
  readonly #clients: readonly KubeClient[];

  constructor(clients: readonly KubeClient[]) {
    this.#clients = clients;
  }

  async total(): Promise<number> {
    const counts = await Promise.all(this.#clients.map((client) => requestsOf(client)));
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

async function requestsOf(client: KubeClient): Promise<number> {
  const { body } = await client.raw("GET", "/metrics");
  let sum = 0;
  for (const line of body.toString("utf8").split("\n")) {
    if (!line.startsWith("apiserver_request_total{")) continue;
    if (/verb="(WATCH|CONNECT)"|[{,]resource="(leases|)"/.test(line)) continue;
    sum += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sum;
}
