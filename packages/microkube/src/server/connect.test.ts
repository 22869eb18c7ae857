import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ApiError, Node, Pod } from "@fjord/kube";
import { startMicrokube } from "../microkube.ts";

test("a kubelet that has no log says why, and the reader hears it as a Status", async (t) => {
  await using microkube = await startMicrokube({ controllers: false, scheduler: false });
  await using client = microkube.client();
  const kubelet = createServer(microkube.credentials.server, (request, response) => {
    const [code, text] = request.url?.includes("previous") ? [400, 'previous container "c" not found'] : [404, "none"];
    response.writeHead(code, { "content-type": "text/plain" }).end(text);
  });
  kubelet.listen(0, "127.0.0.1");
  await once(kubelet, "listening");
  t.after(() => kubelet.close());
  const { port } = kubelet.address() as AddressInfo;
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } } as const;
  await client.create(Node, node);
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await client.patch(Node, { name: "n" }, "merge", { status }, { subresource: "status" });
  const spec = { nodeName: "n", automountServiceAccountToken: false, containers: [{ name: "c", image: "i" }] };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await client.raw("POST", "/api/v1/namespaces/default/serviceaccounts", { body: JSON.stringify(account) });
  await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" }, spec });
  const refusal = async (query: string) => {
    const error = await client.raw("GET", `/api/v1/namespaces/default/pods/p/log${query}`).catch((why) => why);
    assert(error instanceof ApiError);
    const { code, reason, message } = error.status ?? {};
    return { code, reason, message };
  };
  assert.deepEqual(await refusal("?previous=true"), {
    code: 400,
    reason: "BadRequest",
    message: 'previous container "c" not found',
  });
  assert.deepEqual(await refusal(""), {
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource ( pods p)",
  });
});
