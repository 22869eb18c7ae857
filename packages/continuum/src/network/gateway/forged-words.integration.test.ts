import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { namespaceUdp } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { linkAddress, PROBE_PORT } from "../link-address.ts";
import { openProbeAt, pairState } from "./test-gateways.ts";
import { eventually, TestSites } from "./test-sites.ts";

const PAIR = ["a", "b"] as const;

describe("What gateways say to each other over a link", { skip: networkSkip() }, () => {
  const sites = new TestSites("f", { a: 2, b: 1 });
  const { namespaces, keys } = sites;
  const heard: Record<"a" | "b", string[]> = { a: [], b: [] };
  const sockets: { send(bytes: Buffer, to: string): void; close(): void }[] = [];

  before(async () => {
    await sites.make();
    for (const own of PAIR) {
      const peer = own === "a" ? "b" : "a";
      const { address } = sites.site(peer);
      await sites
        .gateway(own)
        .apply(pairState(own, { siteId: peer, publicKey: keys[peer].public, address }), keys[own].private);
      const hear = (bytes: Buffer, from: string) => void heard[own].push(`${bytes} by ${from}`);
      sockets.push(await openProbeAt(namespaces, own)(linkAddress(own), hear));
    }
  });
  after(async () => {
    for (const each of sockets) each.close();
    await sites[Symbol.asyncDispose]();
  });

  /** Once this has come, what was sent before it has, too, or was dropped. */
  const isHeard = async (by: "a" | "b", text: string) => {
    const from = by === "a" ? "b" : "a";
    const said = `${text} by ${linkAddress(from)}`;
    await eventually(`${by} hears ${text}`, () => {
      sockets[PAIR.indexOf(from)]?.send(Buffer.from(text), linkAddress(by));
      return heard[by].includes(said);
    });
  };
  /** A pod that may make packets of its own, as pods may unless somebody forbids it, says something as a gateway. */
  const forge = async (as: "a" | "b", to: "a" | "b", text: string) => {
    const address = linkAddress(as);
    await namespaces.ip("a2", "-6", "address", "flush", "dev", "lo", "scope", "global");
    await namespaces.ip("a2", "-6", "address", "add", `${address}/128`, "dev", "lo", "nodad");
    const socket = await namespaceUdp(namespaces, "a2", { address, port: PROBE_PORT }, () => {});
    try {
      for (let i = 0; i < 5; i++) {
        socket.send(Buffer.from(text), linkAddress(to));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      socket.close();
    }
  };
  const forged = () => PAIR.flatMap((each) => heard[each].splice(0).filter((text) => text.startsWith("forged")));

  it("is not said by a pod in the name of its own site", async () => {
    await isHeard("b", "hello");
    await forge("a", "b", "forged for a");
    await isHeard("b", "after that");
    assert.deepEqual(forged(), []);
  });

  it("is not said by a pod in the name of a peer", async () => {
    await isHeard("a", "hello");
    await forge("b", "a", "forged for b");
    await isHeard("a", "after that");
    assert.deepEqual(forged(), []);
  });

  it("is not said by whoever else runs on the node", async () => {
    const script = `const s = require("node:dgram").createSocket("udp6");
      s.bind({ address: "${linkAddress("a")}" }, () => {
        for (let i = 0; i < 5; i++) s.send("forged on the node", ${PROBE_PORT}, "${linkAddress("b")}");
        setTimeout(() => s.close(), 300);
      });`;
    await namespaces.run("a-gw", process.execPath, "-e", script);
    await isHeard("b", "after a user");
    assert.deepEqual(forged(), []);
  });
});
