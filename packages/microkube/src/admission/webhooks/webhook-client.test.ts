import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { systemClock } from "@fjord/base";
import { ClusterCredentials } from "../../authentication/cluster-credentials.ts";
import { TestCluster } from "../../test-cluster.ts";
import { MOST_CONNECTIONS, WebhookClient } from "./webhook-client.ts";

it("calls a webhook over a few connections, however many calls come at once, and uses them again", async () => {
  const credentials = await ClusterCredentials.open({ clock: systemClock, serverNames: ["hook.shop.svc"] });
  let connections = 0;
  let open = 0;
  const server = createServer(credentials.server, async (request, response) => {
    await request.toArray();
    response.end('{"said":"yes"}');
  });
  server.on("secureConnection", (socket) => {
    connections++;
    open++;
    socket.once("close", () => open--);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(credentials.clusterCa.certificate).toString("base64");
  const client = new WebhookClient();
  const cluster = new TestCluster();
  const burst = () =>
    Promise.all(
      Array.from({ length: 400 }, () => client.post({ url: `https://127.0.0.1:${port}/`, caBundle }, {}, 30, cluster)),
    );
  try {
    assert.deepEqual(new Set((await burst()).map((answer) => JSON.stringify(answer))), new Set(['{"said":"yes"}']));
    assert.ok(connections <= MOST_CONNECTIONS, `${connections} connections`);
    const before = connections;
    await client.post({ url: `https://127.0.0.1:${port}/`, caBundle }, {}, 30, cluster);
    assert.equal(connections, before, "one that was idle");
    while (open > 8) await new Promise((resolve) => setTimeout(resolve, 10));
  } finally {
    client.close();
    server.close();
    server.closeAllConnections();
  }
});
