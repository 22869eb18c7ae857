import assert from "node:assert/strict";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { PeerRefused } from "../../peer-refused-error.ts";
import { DATAGRAM_PATH, DATAGRAM_UPGRADE, TcpCarrier } from "./tcp-carrier.ts";
import { noTcpMetrics } from "./tcp-metrics.ts";

const PEER = "a".repeat(26);
const own = newObject(Site, { metadata: { name: "own" }, spec: { network: {} } }) as Site;

describe("the agent's part of links over TCP", () => {
  const sockets: UdpSocket[] = [];
  const carrierOf = () =>
    new TcpCarrier({
      home: {
        caches: { open: () => ({ cache: { get: () => ({ status: { tcpSource: "127.0.0.1" } }) } }) } as never,
        clock: systemClock,
        logger: silentLogger,
      },
      own: { object: () => own },
      sites: { get: () => undefined },
      address: "127.0.0.1",
      metrics: noTcpMetrics,
    });
  const asked = (change: Partial<IncomingMessage> = {}) =>
    ({ method: "POST", url: DATAGRAM_PATH, headers: { upgrade: DATAGRAM_UPGRADE }, ...change }) as IncomingMessage;
  const caller = { id: PEER, publicKey: "" };
  const refusal = async (carrier: TcpCarrier, request: IncomingMessage, head = Buffer.alloc(0)) => {
    try {
      await carrier.upgrade(request, new PassThrough(), head, caller);
      return "taken";
    } catch (error) {
      assert.ok(error instanceof PeerRefused);
      return error.refusal.code;
    }
  };
  afterEach(() => {
    for (const each of sockets.splice(0)) each.close();
  });

  it("has a port for each peer with a Link, and the same one again where it is free", async () => {
    const carrier = carrierOf();
    const first = await carrier.open(PEER);
    assert.match(first ?? "", /^127\.0\.0\.1:\d+$/);
    assert.equal(await carrier.open(PEER), first);
    assert.notEqual(await carrier.open("b".repeat(26)), first);
    for (const site of [PEER, "b".repeat(26)]) carrier.close(site);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const next = carrierOf();
    assert.equal(await next.open(PEER, first), first, "after a restart");
    next.close(PEER);
    const taken = createSocket("udp4").bind(0, "127.0.0.1");
    sockets.push(taken);
    await once(taken, "listening");
    const busy = `127.0.0.1:${taken.address().port}`;
    const other = await next.open("b".repeat(26), busy);
    assert.notEqual(other, busy);
    next.close("b".repeat(26));
  });

  it("refuses peers without a Link, and what is no such request", async () => {
    const carrier = carrierOf();
    assert.equal(await refusal(carrier, asked()), "NoLink");
    await carrier.open(PEER);
    assert.equal(await refusal(carrier, asked({ method: "GET" })), "NoDatagrams");
    assert.equal(await refusal(carrier, asked({ url: `${DATAGRAM_PATH}/more` })), "NoDatagrams");
    assert.equal(await refusal(carrier, asked({ headers: {} })), "NoDatagrams");
    assert.equal(await refusal(carrier, asked(), Buffer.from("x")), "NoDatagrams");
    assert.equal(await refusal(carrier, asked()), "taken");
    carrier.close(PEER);
    assert.equal(await refusal(carrier, asked()), "NoLink");
  });
});
