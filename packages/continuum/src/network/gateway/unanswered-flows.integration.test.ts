import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { EchoPod, NetworkNamespaces } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { NodeNetwork } from "./node-network.ts";
import { eventually } from "./test-sites.ts";
import { UnansweredFlows } from "./unanswered-flows.ts";

/** By family: a pod and its node, the address of a Service, an endpoint that answers, and one behind a link that is cut. */
const PLACES = {
  4: { pod: "10.42.0.2", node: "10.42.0.1", service: "10.96.0.7", alive: "10.42.1.2", cut: "240.0.0.9" },
  6: { pod: "fd42::2", node: "fd42::1", service: "fd96::7", alive: "fd42:1::2", cut: "fd66:6a6f::9" },
} as const;
const SILENT = ["240.0.0.0/16", "fd66:6a6f::/64"];
const PORT = 7000;

/** Connects from a port, and prints who has answered. */
const CONNECT = `
const [host, localPort, ms] = process.argv.slice(1);
const end = (text) => { process.stdout.write(text); process.exit(0); };
setTimeout(() => end("nothing"), Number(ms));
const socket = require("node:net").connect({ host, port: ${PORT}, localPort: Number(localPort) });
socket.on("error", (error) => end(error.code));
socket.on("data", () => end("an answer"));`;

describe("A connection that a Service has led to a peer that is silent", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  let flows: UnansweredFlows;
  let port = 40_000;

  before(async () => {
    for (const name of ["pod", "node", "far"]) await namespaces.add(name);
    await namespaces.cable("pod", "eth0", "node", "pod0");
    await namespaces.cable("node", "eth0", "far", "eth0");
    for (const [family, { pod, node, alive }] of Object.entries(PLACES)) {
      const own = (name: string, address: string, device: string) =>
        namespaces.ip(name, "address", "add", `${address}/${family === "4" ? 24 : 64}`, "dev", device);
      const [wire, wireNode] = family === "4" ? ["192.0.2.2", "192.0.2.1"] : ["2001:db8::2", "2001:db8::1"];
      await own("pod", pod, "eth0");
      await own("node", node, "pod0");
      await own("node", wireNode, "eth0");
      await own("far", wire, "eth0");
      await namespaces.ip("far", "address", "add", alive, "dev", "lo");
      await namespaces.ip("pod", `-${family}`, "route", "add", "default", "via", node);
      await namespaces.ip("node", `-${family}`, "route", "add", "default", "via", wire);
      await namespaces.ip("far", `-${family}`, "route", "add", "default", "via", wireNode);
    }
    const drop = Object.values(PLACES).map(
      ({ cut }) => `${cut.includes(":") ? "ip6" : "ip"} daddr ${cut} counter drop`,
    );
    const chain = `chain arrive { type filter hook prerouting priority -500; ${drop.join("; ")}; }`;
    await namespaces.run("far", "nft", `table inet cut { ${chain}\n}`);
    await EchoPod.start(namespaces, "far");
  });
  beforeEach(() => {
    const network = new NodeNetwork({ prefix: namespaces.prefix("node") });
    flows = new UnansweredFlows({ network, clock: systemClock, logger: silentLogger });
    port++;
  });
  after(() => namespaces[Symbol.asyncDispose]());

  /** As kube-proxy has it: who has asked before is led as before. */
  const serve = async (to: "alive" | "cut") => {
    const rules = Object.values(PLACES).map((place) => {
      const family = place.service.includes(":") ? "ip6" : "ip";
      return `${family} daddr ${place.service} tcp dport ${PORT} dnat ${family} to ${place[to]}`;
    });
    const chain = `chain services { type nat hook prerouting priority dstnat; ${rules.join("\n")}\n}`;
    await namespaces.run("node", "nft", `table inet proxy\ndelete table inet proxy\ntable inet proxy { ${chain}\n}`);
  };
  const connect = (host: string, patienceMs: number) =>
    namespaces.run("pod", process.execPath, "-e", CONNECT, "--", host, String(port), String(patienceMs));

  const dropped = async () => {
    const counters = (await namespaces.run("far", "nft", "list table inet cut")).matchAll(/packets (\d+)/g);
    return counters.reduce((sum, [, packets]) => sum + Number(packets), 0);
  };

  for (const family of [4, 6] as const) {
    const { service } = PLACES[family];

    it(`is in nobody's way over IPv${family} who has its port later, when the Service leads elsewhere`, async () => {
      await serve("cut");
      assert.equal(await connect(service, 500), "nothing");
      await serve("alive");
      assert.equal(await connect(service, 2_500), "nothing", "the kernel remembers it, and leads the next one there");
      flows.keep(SILENT);
      try {
        assert.equal(await connect(service, 60_000), "an answer");
      } finally {
        await flows.close();
      }
    });
  }

  it("gets another endpoint when it tries again", async () => {
    await serve("cut");
    const before = await dropped();
    const asked = connect(PLACES[4].service, 60_000);
    await eventually("it is led to where nobody answers", async () => (await dropped()) > before);
    flows.keep(SILENT);
    await serve("alive");
    try {
      assert.equal(await asked, "an answer");
    } finally {
      await flows.close();
    }
  });
});
