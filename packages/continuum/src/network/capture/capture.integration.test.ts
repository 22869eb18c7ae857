import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { silentLogger, systemClock } from "@fjord/base";
import { EchoPod, NetworkNamespaces, namespaceSites, POD_RANGES, wireguardKeys } from "@fjord/testbed/namespaces";
import { networkSkip, wireguardProgram } from "@fjord/testbed/testing";
import { Gateway } from "../gateway/gateway.ts";
import { NodeNetwork } from "../gateway/node-network.ts";
import { testChoice } from "../gateway/test-wireguard.ts";
import type { NetworkState } from "../network-state.ts";
import type { CaptureRequest } from "./capture-request.ts";
import { CAPTURE_TRAILER, captureRoute } from "./capture-route.ts";
import type { CapturedPacket } from "./captured-packet.ts";
import { type CaptureSummary, Captures } from "./captures.ts";
import { CaptureDenied } from "./errors.ts";
import { PcapReader } from "./pcap.ts";

/** What a calls the pods of the others, and what they call a's: all three have the same addresses. */
const CALLED: Readonly<Record<string, readonly [string, string]>> = {
  b: ["240.0.0.0/16", "fd66:6a6f::/64"],
  c: ["240.1.0.0/16", "fd66:6a6f:0:1::/64"],
};
const THERE: readonly [string, string] = ["240.9.0.0/16", "fd66:6a6f:0:9::/64"];
const WISH = { durationMs: 60_000, bytes: 1024 ** 2 };

describe("A capture of a link", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  const pods: Record<string, EchoPod> = {};
  const keys = { a: wireguardKeys(), b: wireguardKeys(), c: wireguardKeys() };
  const gateways: Record<string, Gateway> = {};
  const logged: Record<string, unknown>[] = [];
  let addresses: Record<string, string> = {};
  let captures: Captures;
  let server: ReturnType<typeof createServer>;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-capture-"));
    const sites = await namespaceSites(namespaces, { a: 2, b: 1, c: 1 });
    addresses = Object.fromEntries(sites.map(({ name, address }) => [name, address]));
    for (const { pods: all } of sites)
      for (const name of all.keys()) pods[name] = await EchoPod.start(namespaces, name);
    for (const site of ["a", "b", "c"] as const) {
      const network = new NodeNetwork({
        prefix: namespaces.prefix(`${site}-gw`),
        wireguardProgram: wireguardProgram(),
      });
      const gateway = new Gateway({ network, interfacePrefix: prefixOf(site), wireguard: testChoice(), ...means });
      gateways[site] = gateway;
      await gateway.apply(stateOf(site), keys[site].private);
      // What a gateway's pod has, and no more.
      const bare = ["setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all", "--no-new-privs"];
      const limited = new NodeNetwork({ prefix: [...namespaces.prefix(`${site}-gw`), ...bare] });
      if (site === "a") captures = new Captures({ network: limited, linkOf: (id) => gateway.linkOf(id), ...means });
    }
    server = createServer(
      captureRoute({
        captures,
        whoMay: async (code, site) => {
          if (code !== "k".repeat(43)) throw new CaptureDenied({ site, reason: "not known" });
          return "ada";
        },
        nameOf: () => undefined,
        logger: { ...silentLogger, info: (message, fields) => void logged.push({ message, ...fields }) },
      }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(async () => {
    server?.close().closeAllConnections();
    await captures?.remove();
    await namespaces[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const means = { clock: systemClock, logger: silentLogger };
  const prefixOf = (site: string) => `c${process.pid.toString(36)}${site}`;
  const stateOf = (site: "a" | "b" | "c"): NetworkState => ({
    listenPort: 51_820,
    mtu: 1380,
    ranges: POD_RANGES,
    peers: (site === "a" ? (["b", "c"] as const) : (["a"] as const)).map((other) => {
      const [ours, theirs] = site === "a" ? [THERE, CALLED[other] ?? THERE] : [CALLED[site] ?? THERE, THERE];
      return {
        siteId: other,
        own: POD_RANGES.map((range, i) => ({ range, called: ours[i] ?? "" })),
        peer: POD_RANGES.map((range, i) => ({ range, called: theirs[i] ?? "" })),
        link: { publicKey: keys[other].public, endpoints: [`${addresses[other]}:51820`] },
        groups: [{ name: "shop", local: [...POD_RANGES], remote: [...theirs] }],
      };
    }),
  });

  /** Asks for packets, as the command does. */
  const begin = async (
    wish: Omit<CaptureRequest, "durationMs" | "bytes"> & Partial<CaptureRequest>,
    code = "k".repeat(43),
  ) => {
    const { port } = server.address() as AddressInfo;
    const sent = httpRequest({ port, host: "127.0.0.1", path: "/capture", method: "POST" });
    sent.setHeader("authorization", `Bearer ${code}`);
    sent.end(JSON.stringify({ ...WISH, ...wish }));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const file: Buffer[] = [];
    const packets: CapturedPacket[] = [];
    const reader = new PcapReader();
    const ended = (async () => {
      for await (const chunk of response) {
        file.push(chunk as Buffer);
        if (response.statusCode === 200) packets.push(...reader.read(chunk as Buffer));
      }
    })();
    ended.catch(() => {});
    const said = () => JSON.parse(String(response.trailers[CAPTURE_TRAILER])) as CaptureSummary;
    return { response, packets, ended, said, leave: () => void sent.destroy(), file: () => Buffer.concat(file) };
  };
  const hasRules = async () => (await namespaces.run("a-gw", "nft", "list", "tables")).includes("fjord-capture");
  const messagesIn = (packets: readonly CapturedPacket[]) => (text: string) => (direction: "in" | "out") =>
    packets.some((each) => each.direction === direction && each.bytes.includes(text));

  it("has packets of that peer's link, both ways, by the names of this site, and of no other's", async () => {
    const { packets, ended, leave, file } = await begin({ site: "b" });
    const [here, b, c] = ["10.42.0.11", "240.0.0.21", "240.1.0.31"];
    assert.equal(await pods.a1?.ask(b, { proto: "udp", message: "to b" }), "240.9.0.11");
    assert.equal(await pods.a1?.ask(c, { proto: "udp", message: "to c" }), "240.9.0.11");
    assert.equal(await pods.b1?.ask("240.9.0.12", { message: "from b" }), b);
    assert.equal(await pods.a1?.ask("fd66:6a6f::15", { proto: "udp", message: "to b by v6" }), "fd66:6a6f:0:9::b");
    await eventually(async () => messagesIn(packets)("to b by v6")("out"));
    leave();
    await ended.catch(() => {});
    const sees = messagesIn(packets);
    for (const text of ["to b", "to b by v6"]) assert.ok(sees(text)("out"), text);
    assert.ok(sees("from b")("in"));
    assert.ok(sees("240.9.0.11")("in"), "what it is answered: the address by which it was seen");
    assert.ok(!sees("to c")("out") && !sees("to c")("in"));
    await eventually(async () => !(await hasRules()));

    const path = join(directory, "b.pcap");
    await writeFile(path, file());
    const read = async (...filter: string[]) =>
      (await promisify(execFile)("tcpdump", ["-n", "-r", path, ...filter])).stdout.trim().split("\n");
    assert.match((await read("udp", "and", "outbound"))[0] ?? "", new RegExp(` IP ${here}\\.\\d+ > ${b}\\.7000: `));
    assert.match((await read("udp", "and", "inbound"))[0] ?? "", new RegExp(` IP ${b}\\.7000 > ${here}\\.\\d+: `));
    assert.match(
      (await read("tcp", "and", "inbound"))[0] ?? "",
      new RegExp(` IP ${b}\\.\\d+ > 10.42.0.12\\.7000: Flags \\[S\\]`),
    );
    assert.deepEqual(await read("net", "240.1.0.0/16"), [""]);
    assert.match((await read("ip6"))[0] ?? "", / IP6 fd42::b\.\d+ > fd66:6a6f::15\.7000: /);
    assert.deepEqual(
      logged.map(({ message, by, site, end }) => [message, by, site, end]),
      [
        ["packets of a link are captured", "ada", "b", undefined],
        ["a capture has ended", "ada", "b", "Left"],
      ],
    );
  });

  it("has only packets that are asked for, and as much of each", async () => {
    const { packets, ended, said } = await begin({
      site: "b",
      hosts: [["10.42.0.12", "fd42::/64"], ["240.0.0.21"]],
      protocol: "udp",
      ports: [7000],
      packets: 2,
      snaplen: 40,
    });
    for (const pod of ["a1", "a2"]) {
      assert.equal((await pods[pod]?.ask("240.0.0.21", { message: "not by udp" }))?.slice(0, 8), "240.9.0.");
      assert.equal((await pods[pod]?.ask("240.0.0.21", { proto: "udp", message: "asked" }))?.slice(0, 8), "240.9.0.");
    }
    await ended;
    assert.deepEqual(
      packets.map(({ direction, bytes, length }) => [direction, bytes.length, length > 32]),
      [
        ["out", 33, true],
        ["in", 38, true],
      ],
    );
    assert.deepEqual({ ...said(), bytes: 0 }, { end: "Packets", packets: 2, bytes: 0, lost: 0 });
    assert.equal(await hasRules(), false);
  });

  it("ends by itself: by its time, its size, with its link, and nothing is left of it", async () => {
    const timed = await begin({ site: "b", durationMs: 300 });
    const sized = await begin({ site: "b", bytes: 200 });
    await Promise.all([pods.a1?.ask("240.0.0.21", { message: "x*10000" }), timed.ended, sized.ended]);
    assert.equal(timed.said().end, "Duration");
    assert.equal(sized.said().end, "Bytes");
    assert.ok(sized.file().length <= 200, String(sized.file().length));
    const linked = await begin({ site: "c" });
    assert.equal(await hasRules(), true);
    const state = stateOf("a");
    await gateways.a?.apply({ ...state, peers: state.peers.slice(0, 1) }, keys.a.private);
    await captures.bring();
    await linked.ended;
    assert.equal(linked.said().end, "LinkGone");
    assert.equal(await hasRules(), false);
    await gateways.a?.apply(state, keys.a.private);
  });

  it("is kept as it shall be while it is read, and the links' own check does not mind it", async () => {
    const { packets, leave } = await begin({ site: "b" });
    assert.deepEqual(await captures.check(), []);
    assert.deepEqual(await gateways.a?.check(), []);
    await namespaces.run("a-gw", "nft", "flush", "chain", "inet", "fjord-capture", "leave");
    assert.deepEqual(await captures.check(), ["chain leave has other rules"]);
    await namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord-capture");
    assert.deepEqual(await captures.check(), ["table inet fjord-capture is gone"]);
    await pods.a1?.ask("240.0.0.21", { proto: "udp", message: "again" });
    await eventually(async () => messagesIn(packets)("again")("out"));
    leave();
    await eventually(async () => !(await hasRules()));
  });

  it("is taken away by the gateway that comes after one that was killed within it", async () => {
    const { leave } = await begin({ site: "b" });
    const network = new NodeNetwork({ prefix: namespaces.prefix("a-gw") });
    const next = new Captures({ network, linkOf: (id) => gateways.a?.linkOf(id), ...means });
    assert.equal(await hasRules(), true);
    await next.bring();
    assert.equal(await hasRules(), false);
    leave();
  });

  it("is refused to who may not, of links that are not here, and when there are too many", async () => {
    const refused = async (...args: Parameters<typeof begin>) => {
      const { response, ended, file } = await begin(...args);
      await ended;
      return [response.statusCode, JSON.parse(file().toString()).code];
    };
    assert.deepEqual(await refused({ site: "b" }, "x".repeat(43)), [403, "CAPTURE_DENIED"]);
    assert.deepEqual(await refused({ site: "d" }), [404, "CAPTURE_LINK_NOT_HERE"]);
    assert.deepEqual(await refused({ site: "b", hosts: [["10.0.0.1; flush ruleset"]] }), [
      400,
      "CAPTURE_INVALID_REQUEST",
    ]);
    const all = await Promise.all(Array.from({ length: 4 }, () => begin({ site: "b" })));
    assert.deepEqual(await refused({ site: "b" }), [429, "CAPTURE_TOO_MANY"]);
    for (const each of all) each.leave();
    await eventually(async () => !(await hasRules()));
  });
});

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    assert.ok(Date.now() < end, "not within 30 seconds");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
