import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { after, describe, test } from "node:test";
import type { RawRoute } from "../../peer-routes.ts";
import { KUBE_PREFIX } from "../../protocol.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { TestSites } from "../proxy/test-tenants.ts";
import { PeerServer } from "../server/peer-server.ts";
import { siteRoute } from "../server/site-route.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { LiveRemoteSites } from "./live-remote-sites.ts";

const [provider, consumer] = await Promise.all([testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<void>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

/** Longer than it takes to call a site lost, and then to give its connections up. */
const SILENCE_MS = 1_500;

/** Something that runs, and says its last word when it is told to. */
interface Guest {
  end(): void;
}

/** What a provider has behind its proxy: the stream that was opened last. */
function kube(begun: (guest: Guest) => void): RawRoute {
  return {
    prefix: KUBE_PREFIX,
    access: "peer",
    handle: (_, response) => {
      response.writeHead(200).write("first\n");
      begun({ end: () => response.end("last\n") });
    },
    upgrade: (request, socket) => {
      socket.on("error", () => {}).write(webSocketHead(request));
      socket.write(frame(1, "first\n"));
      const end = () => {
        socket.write(frame(1, "last\n"));
        socket.write(frame(3, '{"status":"Success"}'));
        socket.end(Uint8Array.of(0x88, 2, 3, 0xe8));
      };
      begun({ end });
    },
  };
}

describe("what people do in a guest", { concurrency: true }, () => {
  for (const what of ["exec", "log"] as const)
    test(`${what} outlives a silence of its site, whenever it falls`, async () => {
      let guest: Guest | undefined;
      await using relay = await stallingRelay(await serve((begun) => (guest = begun)));
      const remote = consume(relay.endpoint);
      await until(remote, () => remote.reachability.reachable);

      relay.stall();
      const begun = reads(what, remote);
      await lostAndGivenUp(remote);
      relay.goOn();
      await until(remote, () => remote.reachability.reachable);
      await heard(begun, "first\n");

      // It is silent for good now, and so no byte tells the consumer that this connection is the one that lives.
      relay.stall();
      await lostAndGivenUp(remote);
      relay.goOn();
      await until(remote, () => remote.reachability.reachable);
      await pause(1_000);
      guest?.end();
      await heard(begun, "first\nlast\n");
      await begun.ended;
    });

  test("is not begun where a site has been away for long, and says so", async () => {
    await using relay = await stallingRelay(await serve(() => {}));
    const remote = consume(relay.endpoint);
    await until(remote, () => remote.reachability.reachable);
    relay.stall();
    await until(remote, () => !remote.reachability.reachable);
    await pause(5_500);
    await assert.rejects(reads("exec", remote).ended, /the site is away: it did not answer within/);
  });
});

function reads(what: "exec" | "log", remote: RemoteSite): { text: string; ended: Promise<unknown> } {
  const seen = { text: "", ended: Promise.resolve() as Promise<unknown> };
  const take = (chunk: Buffer) => {
    seen.text += chunk;
  };
  const key = { name: "web", namespace: "hello" };
  if (what === "exec") {
    const stdout = new PassThrough().on("data", take);
    seen.ended = remote.kube.exec(key, { command: ["sh"], stdout });
  } else
    seen.ended = (async () => {
      for await (const chunk of remote.kube.log(key, { follow: true })) take(chunk);
    })();
  seen.ended.catch(() => {});
  return seen;
}

async function heard(reading: { text: string; ended: Promise<unknown> }, text: string): Promise<void> {
  const failed = reading.ended.then(() => {});
  while (reading.text !== text) await Promise.race([pause(20), failed.then(() => pause(20))]);
}

async function lostAndGivenUp(remote: RemoteSite): Promise<void> {
  await until(remote, () => !remote.reachability.reachable);
  await pause(SILENCE_MS);
}

async function serve(begun: (guest: Guest) => void): Promise<string> {
  const site = siteRoute({
    id: provider.id,
    published: () => ({ name: "lively-wave" }),
    endpoints: () => [],
    contractsOf: () => [],
  });
  const siteOf = siteObject;
  const options = {
    ...means,
    tls: provider.tls,
    siteOf,
    routes: [site],
    rawRoutes: [kube(begun)],
    host: "127.0.0.1",
    port: 0,
  };
  const server = new PeerServer(options);
  runs.push(server.run(stop.signal));
  return `https://127.0.0.1:${(await server.listen())?.port}`;
}

function consume(endpoint: string): RemoteSite {
  const sites = new TestSites();
  sites.set(siteObject(provider.id, { endpoints: [endpoint] }));
  const timing = { beatMs: 50, timeoutMs: 300, retryMs: 50 };
  const remotes = new LiveRemoteSites({ ...means, sites, tls: consumer.tls, timing });
  runs.push(remotes.run(stop.signal));
  return remotes.get(provider.id) as RemoteSite;
}

function until(remote: RemoteSite, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return;
      unsubscribe();
      resolve();
    };
    const unsubscribe = remote.onChange(look);
    look();
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A way to a server that can fall silent, and lose nothing: what was sent meanwhile arrives later. */
async function stallingRelay(target: string) {
  let stalled = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const flow = (pair: readonly [Socket, Socket]) => {
    for (const socket of pair) stalled ? socket.pause() : socket.resume();
  };
  const server = createServer({ pauseOnConnect: true }, (near) => {
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const])
      from
        .on("data", (data) => void to.write(data))
        .on("error", () => {})
        .on("close", () => {
          to.destroy();
          pairs.delete(pair);
        });
    flow(pair);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const set = (to: boolean) => {
    stalled = to;
    for (const pair of pairs) flow(pair);
  };
  return {
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stall: () => set(true),
    goOn: () => set(false),
    async [Symbol.asyncDispose]() {
      for (const [near, far] of pairs) {
        near.destroy();
        far.destroy();
      }
      server.close();
    },
  };
}

function webSocketHead({ headers }: Pick<IncomingMessage, "headers">): string {
  const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  return [
    "HTTP/1.1 101 Switching Protocols",
    "connection: Upgrade",
    "upgrade: websocket",
    `sec-websocket-accept: ${createHash("sha1").update(key).digest("base64")}`,
    "sec-websocket-protocol: v5.channel.k8s.io\r\n\r\n",
  ].join("\r\n");
}

/** A short message of a server on one channel. */
function frame(channel: number, text: string): Buffer {
  return Buffer.concat([Uint8Array.of(0x82, text.length + 1, channel), Buffer.from(text)]);
}
