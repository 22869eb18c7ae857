import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { LocalClients } from "./local-clients.ts";
import type { LocalConnection, LocalPod } from "./local-connection.ts";
import { inodeIn, parseSocketTable } from "./socket-table.ts";

const web: LocalPod = { uid: "1", namespace: "shop", name: "web", address: "127.99.0.1" };
const other: LocalPod = { uid: "2", namespace: "shop", name: "other", address: "127.99.0.2" };
const children: ChildProcess[] = [];
const sockets: Socket[] = [];
const clients = new LocalClients();
const server = createServer();
const datagrams: UdpSocket = createSocket("udp4");

before(async () => {
  server.listen(0, "127.0.0.1");
  datagrams.bind(0, "127.0.0.1");
  await Promise.all([once(server, "listening"), once(datagrams, "listening")]);
});
after(() => {
  for (const { pid = 0 } of children) process.kill(-pid, "SIGKILL");
  for (const socket of sockets) socket.destroy();
  server.close();
  datagrams.close();
});

/** A process that connects, from a process of its own below a shell, as a program of a container does. */
function run(script: string): number {
  const child = spawn("sh", ["-c", '"$0" -e "$1" & wait', process.execPath, script], {
    stdio: "ignore",
    detached: true,
  });
  children.push(child);
  return child.pid ?? assert.fail();
}

async function taken(): Promise<LocalConnection> {
  const [socket] = (await once(server, "connection")) as [Socket];
  sockets.push(socket.on("error", () => {}));
  const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
  return {
    protocol: "TCP",
    client: { address: remoteAddress, port: remotePort },
    server: { address: localAddress, port: localPort },
  };
}

describe("the pod behind a connection", () => {
  test("is found by the process that holds the socket, whatever address it has", async () => {
    const { port } = server.address() as AddressInfo;
    // It takes the address of another one, and has cleared its environment.
    const socket = `require("net").connect({ port: ${port}, host: "127.0.0.1", localAddress: "${other.address}" })`;
    const pids = { web: run(socket), other: run("setInterval(() => {}, 1000)") };
    const stop = clients.follow(() => [
      { pid: pids.other, pod: other },
      { pid: pids.web, pod: web },
    ]);
    const connection = await taken();
    assert.equal(connection.client.address, other.address);
    assert.deepEqual(await clients.of(connection), web);
    stop();
    assert.equal(await clients.of(connection), undefined, "nobody tells whose process that is");
  });

  test("is found of datagrams, from a socket that says not where it is", async () => {
    const { port } = datagrams.address();
    const send = `const s = require("dgram").createSocket("udp4"); setInterval(() => s.send("x", ${port}, "127.0.0.1"), 50)`;
    const pid = run(send);
    const stop = clients.follow(() => [{ pid, pod: web }]);
    const [, from] = (await once(datagrams, "message")) as [Buffer, RemoteInfo];
    const client = { address: from.address, port: from.port };
    const connection = { protocol: "UDP", client, server: { address: "127.0.0.1", port } } as const;
    assert.deepEqual(await clients.of(connection), web);
    stop();
  });

  test("is the one for whom this process has opened it, and only where it has", async () => {
    const { port } = server.address() as AddressInfo;
    const pid = run(`require("net").connect({ port: ${port}, host: "127.0.0.1" })`);
    const stop = clients.follow(() => [{ pid, pod: web }]);
    const first = await taken();
    // What a proxy of the node does.
    const accepted = taken();
    const onwards = createConnection({ port, host: "127.0.0.1" });
    const second = await accepted;
    const answer = clients.of(second);
    const forget = clients.note(second, first);
    assert.deepEqual(await answer, web, "it may be noted a moment later");
    forget();
    assert.equal(await clients.of(second), undefined);
    clients.note(second, other);
    assert.deepEqual(await clients.of(second), other);
    onwards.destroy();
    stop();
  });

  test("is looked for together with others, and nobody's where there are too many", async () => {
    const gone = { address: "127.99.9.9", port: 9 };
    const all = Array.from({ length: 5_000 }, (_, port) =>
      clients.of({ protocol: "TCP", client: gone, server: { address: "127.0.0.1", port } }),
    );
    assert.ok((await Promise.all(all)).every((found) => found === undefined));
  });
});

test("a socket of IPv6 has the same addresses, in another table", () => {
  const connection: LocalConnection = {
    protocol: "TCP",
    client: { address: "127.0.0.1", port: 40_000 },
    server: { address: "127.88.0.7", port: 8080 },
  };
  const places = ["0100007F:9C40", "0700587F:1F90"];
  const found = (inode: string, prefix = "") => {
    const [local, remote] = places.map((place) => `${prefix}${place}`);
    const rest = `01 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0 20 4 0 10 -1`;
    return parseSocketTable(`  sl  local_address rem_address   st\n  12: ${local} ${remote} ${rest}\n`);
  };
  assert.equal(inodeIn(found("48213"), connection), "48213");
  assert.equal(inodeIn(found("48213", "0000000000000000FFFF0000"), connection), "48213");
  assert.equal(inodeIn(found("0"), connection), undefined, "nobody has it any more");
  assert.equal(inodeIn(found("48213"), { ...connection, client: connection.server }), undefined);
});
