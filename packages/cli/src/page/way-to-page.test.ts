import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { KubeClient } from "@fjord/kube";
import { openWayToPage, pageAnswers } from "./way-to-page.ts";

const { signal } = new AbortController();

async function serving(status: number, text: string): Promise<{ server: Server; url: string }> {
  const server = createServer((_, response) => response.writeHead(status).end(text)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test("whoever is sent to the page finds it, or hears why not", async () => {
  const good = await serving(200, "<!doctype html><title>Fjord</title>");
  await pageAnswers(good.url, signal);
  const said = { error: "cannot serve the page from /x: there is no such folder", code: "PAGE_FILES_MISSING" };
  const unbuilt = await serving(503, JSON.stringify(said));
  await assert.rejects(pageAnswers(unbuilt.url, signal), {
    code: "CLI_PAGE_NOT_BUILT",
    message: /has no page to serve: cannot serve the page from \/x: there is no such folder$/,
  });
  const broken = await serving(500, "it is broken");
  await assert.rejects(pageAnswers(broken.url, signal), { code: "CLI_NO_PAGE", message: /500: it is broken/ });
  const other = await serving(200, "<title>It works!</title>");
  await assert.rejects(pageAnswers(other.url, signal), /what answers there is something else/);
  for (const { server } of [good, unbuilt, broken, other]) server.close();
  await once(other.server, "close");
  await assert.rejects(pageAnswers(other.url, signal), { code: "CLI_NO_PAGE", message: /ECONNREFUSED/ });
});

test("an agent that is a pod is reached through the API, any other on this machine", async () => {
  const asked: unknown[] = [];
  let server = "https://api.example:6443";
  const clientWith = (...pods: object[]) =>
    ({
      transport: { server },
      list: async () => ({ items: pods }),
      listenPortForward: async (key: unknown, options: { port: number; localPort: number }) => {
        asked.push([key, options.port, options.localPort]);
        return { host: "127.0.0.1", port: 4711, close: async () => void asked.push("closed") };
      },
    }) as unknown as KubeClient;
  const options = { namespace: "fjord-system", localPort: 0, signal };
  const pod = (name: string, ready: string) => ({
    metadata: { name },
    status: { conditions: [{ type: "Ready", status: ready }] },
  });
  assert.equal((await openWayToPage(clientWith(), options)).url, "http://127.0.0.1:7446");
  for (const [at, host] of [
    ["https://127.7.7.1:6443", "127.7.7.1"],
    ["https://[::1]:6443", "[::1]"],
    ["https://127.0.0.1.example:6443", "127.0.0.1"],
  ] as const) {
    server = at;
    assert.equal((await openWayToPage(clientWith(), options)).url, `http://${host}:7446`);
  }
  const said = await openWayToPage(clientWith(pod("a", "True")), { ...options, url: "https://page.example" });
  assert.deepEqual([said.url, said.isForwarded], ["https://page.example", false]);
  await assert.rejects(openWayToPage(clientWith(pod("a", "False")), options), /no agent is ready yet/);
  {
    await using way = await openWayToPage(clientWith(pod("a", "False"), pod("b", "True")), options);
    assert.deepEqual([way.url, way.isForwarded], ["http://127.0.0.1:4711", true]);
  }
  assert.deepEqual(asked, [[{ namespace: "fjord-system", name: "b" }, 7446, 0], "closed"]);
});
