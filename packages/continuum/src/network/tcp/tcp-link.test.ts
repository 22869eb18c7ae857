import assert from "node:assert/strict";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { TcpLink } from "./tcp-link.ts";
import type { TcpMetrics } from "./tcp-metrics.ts";

async function udp(): Promise<UdpSocket> {
  const socket = createSocket("udp4");
  socket.bind({ address: "127.0.0.1", port: 0 });
  await once(socket, "listening");
  return socket;
}

function packet(text: string, length = 64): Buffer {
  const bytes = Buffer.alloc(Math.max(length, 32));
  bytes.writeUInt8(4, 0);
  bytes.write(text, 4);
  return bytes;
}

const textOf = (bytes: Buffer) => bytes.subarray(4).toString().replace(/\0+$/, "");

/** A gateway, which is a UDP socket, and the agent beside it. */
class Site {
  readonly heard: string[] = [];
  readonly drops: string[] = [];
  readonly gateway: UdpSocket;
  readonly link: TcpLink;
  readonly #agent: UdpSocket;
  isKnown = true;
  dials = 0;
  open = 0;

  constructor(clock: ManualClock, gateway: UdpSocket, agent: UdpSocket, dial: () => Promise<Socket>) {
    this.gateway = gateway;
    this.#agent = agent;
    gateway.on("message", (bytes) => void this.heard.push(textOf(bytes)));
    const metrics: TcpMetrics = {
      open: (_, count) => {
        this.open = count;
      },
      sent: () => {},
      received: () => {},
      dropped: (_, reason) => void this.drops.push(reason),
    };
    this.link = new TcpLink({
      site: "peer",
      socket: agent,
      gateway: () => (this.isKnown ? { address: "127.0.0.1", port: gateway.address().port } : undefined),
      connect: async () => {
        this.dials++;
        return await dial();
      },
      clock,
      logger: silentLogger,
      metrics,
    });
  }

  get agentPort(): number {
    return this.#agent.address().port;
  }

  say(text: string, length?: number, from = this.gateway): void {
    from.send(packet(text, length), this.agentPort, "127.0.0.1");
  }
}

describe("packets that agents carry", () => {
  let clock: ManualClock;
  let server: Server;
  let accepted: Socket[];
  let dial: () => Promise<Socket>;
  let one: Site;
  let other: Site;
  const more: UdpSocket[] = [];

  beforeEach(async () => {
    clock = new ManualClock(1_000_000);
    accepted = [];
    server = createServer((socket) => {
      accepted.push(socket);
      other.link.accept(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    dial = async () => {
      const socket = connect({ host: "127.0.0.1", port: (server.address() as { port: number }).port });
      await once(socket, "connect");
      return socket;
    };
    one = new Site(clock, await udp(), await udp(), () => dial());
    other = new Site(clock, await udp(), await udp(), async () => {
      throw new Error("it cannot be dialled");
    });
  });
  afterEach(() => {
    for (const { link, gateway } of [one, other]) {
      link.close();
      gateway.close();
    }
    for (const each of more.splice(0)) each.close();
    for (const each of accepted) each.destroy();
    server.close();
  });
  const until = async (what: string, holds: () => boolean) => {
    for (const end = Date.now() + 30_000; !holds(); ) {
      assert.ok(Date.now() < end, what);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  it("go from gateway to gateway and back, over one connection that whoever can has dialled", async () => {
    one.say("hello");
    await until("it comes", () => other.heard.includes("hello"));
    other.say("and back");
    await until("it comes back", () => one.heard.includes("and back"));
    for (let i = 0; i < 50; i++) one.say(`packet ${i}`, 1400);
    await until("all come", () => other.heard.includes("packet 49"));
    assert.deepEqual([one.dials, other.dials, accepted.length], [1, 0, 1]);
    assert.deepEqual([one.drops, other.drops], [[], []]);
  });

  it("are taken from nobody but the gateway, and given to nobody else", async () => {
    const stranger = await udp();
    more.push(stranger);
    one.say("stranger", 64, stranger);
    await until("it is dropped", () => one.drops.includes("NotOfGateway"));
    one.isKnown = false;
    one.say("early");
    await until("it is dropped too", () => one.drops.length === 2);
    assert.equal(one.dials, 0);
    one.isKnown = true;
    other.isKnown = false;
    one.say("hello");
    await until("it is dropped there", () => other.drops.includes("NotOfGateway"));
    assert.deepEqual(other.heard, []);
  });

  it("are WireGuard's and nothing else, in both directions", async () => {
    one.gateway.send(Buffer.from("GET / HTTP/1.1 and so on and so forth"), one.agentPort, "127.0.0.1");
    await until("it is dropped", () => one.drops.includes("NotWireguard"));
    one.say("hello");
    await until("it comes", () => other.heard.length === 1);
    const text = Buffer.from("GET / HTTP/1.1 and so on and so forth");
    accepted[0]?.write(Buffer.concat([Buffer.from([0, text.length]), text]));
    await until("it is dropped here", () => one.drops.length === 2);
    assert.deepEqual(one.heard, []);
  });

  it("are dropped where the other end does not read, and memory does not grow", async () => {
    server.removeAllListeners("connection");
    server.on("connection", (socket) => void accepted.push(socket.pause()));
    one.say("hello");
    await until("it is connected", () => accepted.length === 1);
    for (let i = 0; i < 400 && one.drops.length === 0; i++) {
      for (let j = 0; j < 100; j++) one.say("bulk", 8_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(one.drops[0], "Slow");
  });

  it("find another connection when theirs breaks", async () => {
    one.say("hello");
    await until("it comes", () => other.heard.length === 1);
    accepted[0]?.resetAndDestroy();
    await until("it is gone", () => one.open === 0);
    one.say("again");
    await until("it comes again", () => other.heard.includes("again"));
    assert.equal(one.dials, 2);
  });

  it("find another connection when theirs has been silent, and keep one that lives", async () => {
    one.say("hello");
    await until("it comes", () => other.heard.length === 1);
    const beat = async (seconds: number) => {
      for (let at = 0; at < seconds; at += 5) {
        await clock.advance(5_000);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await beat(60);
    assert.equal(one.open, 1, "both say that they are there");
    other.link.close();
    accepted[0]?.pause();
    await beat(30);
    await until("it is given up", () => one.open === 0);
  });

  it("leave a connection that nobody uses", async () => {
    one.say("hello");
    await until("it comes", () => other.heard.length === 1);
    for (let at = 0; at < 150; at += 5) {
      await clock.advance(5_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until("it is left", () => one.open === 0 && other.open === 0);
  });

  it("wait for a connection, some of them, and are not dialled for all the time where there is none", async () => {
    const good = dial;
    dial = async () => {
      throw new Error("nobody answers");
    };
    for (let i = 0; i < 40; i++) one.say(`packet ${i}`);
    await until("the oldest are dropped", () => one.drops.length === 24);
    assert.deepEqual([new Set(one.drops), one.dials], [new Set(["NoConnection"]), 1]);
    await clock.advance(600);
    dial = good;
    one.say("last");
    await until("the last ones come", () => other.heard.includes("last") && other.heard.includes("packet 39"));
    assert.equal(other.heard.length, 16);
  });
});
