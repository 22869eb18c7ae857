import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { freePort } from "@fjord/testbed/testing";
import type { Endpoint, ServicePort } from "./service-plan.ts";
import { UserspaceProxy } from "./userspace-proxy.ts";

// Loopback addresses of their own, apart from those of other tests.
const SERVICE = "127.96.77.1";
const POD = (index: number) => `127.97.77.${index}`;
// Ports that no other run of these tests has.
const PORT = await freePort();
const NODE_PORT = await freePort();

describe("Services without privileges", () => {
  let proxy: UserspaceProxy;
  const servers: Server[] = [];
  const held: Socket[] = [];

  beforeEach(() => {
    proxy = new UserspaceProxy({ nodeAddresses: [POD(200)], clock: systemClock, logger: silentLogger });
  });
  afterEach(() => {
    proxy.close();
    for (const socket of held.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  /** A pod that says its name to whoever comes, and then echoes. */
  const pod = async (index: number): Promise<Endpoint> => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      held.push(socket);
      socket.on("error", () => {});
      socket.write(`pod ${index}\n`);
      socket.pipe(socket);
    });
    server.listen(0, POD(index));
    await once(server, "listening");
    servers.push(server);
    return { ip: POD(index), port: (server.address() as AddressInfo).port };
  };
  const port = (endpoints: Endpoint[], more: Partial<ServicePort> = {}): ServicePort => ({
    id: "shop/web:http",
    protocol: "TCP",
    clusterIps: [SERVICE],
    port: PORT,
    externalIps: [],
    nodePort: undefined,
    inside: endpoints,
    outside: endpoints,
    keepsClient: false,
    affinitySeconds: undefined,
    ...more,
  });
  const connect = async (ip = SERVICE, number = PORT, from?: string): Promise<{ socket: Socket; greeting: string }> => {
    const socket = createConnection({ host: ip, port: number, ...(from && { localAddress: from }) });
    held.push(socket);
    const [greeting] = (await once(socket, "data")) as [Buffer];
    return { socket, greeting: greeting.toString().trim() };
  };

  it("are shared by their endpoints in turn", async () => {
    await proxy.apply([port([await pod(1), await pod(2)])]);
    const greetings: string[] = [];
    for (let i = 0; i < 4; i++) greetings.push((await connect()).greeting);
    assert.deepEqual(greetings.sort(), ["pod 1", "pod 1", "pod 2", "pod 2"]);
  });

  it("break no connection when endpoints change, and send new ones elsewhere at once", async () => {
    const [one, two] = [await pod(1), await pod(2)];
    await proxy.apply([port([one])]);
    const { socket, greeting } = await connect();
    assert.equal(greeting, "pod 1");
    await proxy.apply([port([two])]);
    assert.equal((await connect()).greeting, "pod 2");
    socket.write("still there?");
    assert.equal(String((await once(socket, "data"))[0]), "still there?");
  });

  it("keep a client with its endpoint where they should, until that is gone", async () => {
    const [one, two] = [await pod(1), await pod(2)];
    await proxy.apply([port([one, two], { affinitySeconds: 60 })]);
    const from = POD(100);
    const first = (await connect(SERVICE, PORT, from)).greeting;
    for (let i = 0; i < 3; i++) assert.equal((await connect(SERVICE, PORT, from)).greeting, first);
    await proxy.apply([port(first === "pod 1" ? [two] : [one], { affinitySeconds: 60 })]);
    assert.notEqual((await connect(SERVICE, PORT, from)).greeting, first);
  });

  it("pass over an endpoint that does not answer", async () => {
    const dead = { ip: POD(9), port: 1 };
    await proxy.apply([port([dead, await pod(1)])]);
    assert.equal((await connect()).greeting, "pod 1");
    assert.equal((await connect()).greeting, "pod 1");
  });

  it("refuse where there is no endpoint, and are gone when they are", async () => {
    await proxy.apply([port([])]);
    const refused = createConnection({ host: SERVICE, port: PORT });
    await assert.rejects(once(refused, "end"), /ECONNRESET/);
    await proxy.apply([]);
    await assert.rejects(once(createConnection({ host: SERVICE, port: PORT }), "connect"), /ECONNREFUSED/);
  });

  it("pass the end of input on, and what comes after it back", async () => {
    await proxy.apply([port([await pod(1)])]);
    const { socket } = await connect();
    const rest: Buffer[] = [];
    socket.on("data", (chunk) => rest.push(chunk));
    socket.end("last words");
    await once(socket, "end");
    assert.equal(Buffer.concat(rest).toString(), "last words");
  });

  it("are reached by node ports too", async () => {
    await proxy.apply([port([await pod(1)], { nodePort: NODE_PORT })]);
    assert.equal((await connect(POD(200), NODE_PORT)).greeting, "pod 1");
  });

  it("carry datagrams, each client's answers back to it", async () => {
    const echo = createSocket("udp4");
    echo.on("message", (message, { port: to, address }) => echo.send(`echo ${message}`, to, address));
    await new Promise<void>((resolve) => echo.bind(0, POD(3), resolve));
    await proxy.apply([port([{ ip: POD(3), port: echo.address().port }], { protocol: "UDP" })]);
    const ask = async (text: string) => {
      const client = createSocket("udp4");
      client.send(text, PORT, SERVICE);
      const [answer] = (await once(client, "message")) as [Buffer];
      client.close();
      return answer.toString();
    };
    assert.deepEqual(await Promise.all([ask("a"), ask("b"), ask("c")]), ["echo a", "echo b", "echo c"]);
    echo.close();
  });
});
