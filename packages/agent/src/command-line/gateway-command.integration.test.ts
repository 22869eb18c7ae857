import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { NetworkState } from "@fjord/continuum/gateway";
import {
  EchoPod,
  type NamespaceSite,
  NetworkNamespaces,
  namespaceSites,
  wireguardKeys,
} from "@fjord/testbed/namespaces";
import { networkSkip, wireguardProgram } from "@fjord/testbed/testing";

const skip = networkSkip();
/** What any user of the node may be. */
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
/** A program for perl: holds a socket without a file that is called like gateways, the port of their metrics, and a socket of netlink. */
const TAKE = `
socket(my $named, 1, 1, 0) or die "$!\\n";
bind($named, pack("Sa*", 1, "\\0fjord-gateway")) or die "$!\\n";
listen($named, 1);
socket(my $port, 2, 1, 0) or die "$!\\n";
bind($port, pack("Sna4x8", 2, 7448, pack("C4", 127, 0, 0, 1))) or die "$!\\n";
listen($port, 1);
socket(my $netlink, 16, 3, 12) or die "$!\\n";
# Group 7443 of the kernel's log, which it does not get.
send($netlink, pack("LSSLLCCnSSCx3", 28, 0x401, 5, 0, 0, 0, 0, 7443, 5, 1, 1), 0);
syswrite(STDOUT, "taken\\n");
sysread(STDIN, my $end, 1);
`;
const PROGRAM = join(import.meta.dirname, "../cli.ts");

describe("fjord-agent gateway", { skip }, () => {
  const namespaces = new NetworkNamespaces();
  const running = new Map<string, ChildProcess>();
  const pods: Record<string, EchoPod> = {};
  const keys = { a: wireguardKeys(), b: wireguardKeys() };
  let sites: NamespaceSite[] = [];
  let directory = "";

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-gateway-"));
    sites = await namespaceSites(namespaces, { a: 1, b: 1 });
    for (const name of ["a1", "b1"]) pods[name] = await EchoPod.start(namespaces, name);
    for (const site of ["a", "b"] as const) {
      await writeFile(join(directory, `${site}.key`), `${keys[site].private}\n`, { mode: 0o600 });
      await writeState(site, "240.0.0.0/16");
      run(site);
    }
  });
  after(async () => {
    for (const child of running.values()) child.kill("SIGKILL");
    await namespaces[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const prefix = (site: string) => `x${process.pid.toString(36)}${site}`;
  const addressOf = (site: string) => sites.find(({ name }) => name === site)?.address ?? "";
  /** Both call the other by the same range. */
  const writeState = async (site: "a" | "b", called: string) => {
    const other = site === "a" ? "b" : "a";
    const [own, peer] = [sites.find(({ name }) => name === site), sites.find(({ name }) => name === other)];
    const [local] = [...(own?.pods.values() ?? [])].map(({ ipv4 }) => ipv4);
    const state: NetworkState = {
      siteId: site,
      listenPort: 51_820,
      mtu: 1380,
      ranges: ["10.42.0.0/16"],
      peers: [
        {
          siteId: other,
          own: [{ range: "10.42.0.0/16", called }],
          peer: [{ range: "10.42.0.0/16", called }],
          link: { publicKey: keys[other].public, endpoints: [`${peer?.address}:51820`] },
          groups: [{ name: "shop", local: [`${local}`], remote: [called] }],
        },
      ],
    };
    const file = join(directory, `${site}.json`);
    await writeFile(`${file}.new`, JSON.stringify(state));
    await rename(`${file}.new`, file);
  };
  const command = (site: string, ...args: string[]) => {
    const [program = "", ...rest] = [...namespaces.prefix(`${site}-gw`), process.execPath, PROGRAM, "gateway", ...args];
    return spawn(program, [...rest, "--interface", prefix(site)], { stdio: ["ignore", "ignore", "pipe"] });
  };
  const run = (site: string, ...more: string[]) => {
    const files = ["--state", join(directory, `${site}.json`), "--key", join(directory, `${site}.key`)];
    const options = ["--scrape-address", addressOf(site), "--wireguard-go", wireguardProgram()];
    const child = command(site, "run", ...files, ...options, ...more);
    child.stderr?.pipe(process.stderr);
    running.set(site, child);
  };

  const kill = async (site: string) => {
    const child = running.get(site) as ChildProcess;
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };

  it("makes the link, which stays when the program is killed, and the next one goes on with it", async () => {
    assert.equal(await pods.a1?.ask("240.0.0.21", { proto: "udp" }), "240.0.0.11");
    await kill("a");
    assert.equal(await pods.a1?.ask("240.0.0.21"), "240.0.0.11");
    run("a");
    assert.equal(await pods.b1?.ask("240.0.0.11"), "240.0.0.21");
  });

  const fetched = (from: string, address: string) => {
    const script = `fetch("http://${address}/metrics").then((answer) => answer.text()).then(console.log)`;
    return namespaces.run(`${from}-gw`, process.execPath, "-e", script);
  };
  /** Until a gateway's metrics have all of these. */
  const metricsHave = (site: string, ...wanted: RegExp[]) => metricsAtHave(site, "127.0.0.1:7448", ...wanted);
  const metricsAtHave = async (site: string, address: string, ...wanted: RegExp[]) => {
    let text = "";
    for (const end = Date.now() + 90_000; !wanted.every((each) => each.test(text)); ) {
      assert.ok(Date.now() < end, text);
      // It may have just been started.
      text = await fetched(site, address).catch(String);
      await sleep(200);
    }
  };

  it("is not run twice on a node: the second says why it ends, and the first goes on, with all that it has made", async () => {
    // The link of before carries at once: only this tells that the one that goes on with it is there, and so is the first.
    await metricsHave("a", /^fjord_gateway_applied 1$/m);
    const firewall = () => namespaces.run("a-gw", "nft", "-a", "list", "chain", "inet", "fjord", "arrive4");
    const before = await firewall();
    const files = ["--state", join(directory, "a.json"), "--key", join(directory, "a.key")];
    // Whatever else is other than the first one's.
    const others = ["--metrics-listen", "127.0.0.1:7450", "--wireguard-go", wireguardProgram(), "--remove-at-end"];
    const second = command("a", "run", ...files, ...others);
    running.set("second", second);
    let words = "";
    second.stderr?.on("data", (chunk: Buffer) => {
      words += chunk.toString();
    });
    const [code] = (await once(second, "close", { signal: AbortSignal.timeout(60_000) })) as [number];
    assert.equal(code, 1);
    assert.match(words, /another gateway runs on this node/);
    assert.equal(await firewall(), before);
    assert.equal(await pods.a1?.ask("240.0.0.21"), "240.0.0.11");
  });

  it("starts though a user without rights has taken what such a one can take of the node", async () => {
    await kill("a");
    const [program = "", ...args] = [...namespaces.prefix("a-gw"), ...NOBODY, "perl", "-e", TAKE];
    const nobody = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    running.set("nobody", nobody);
    assert.equal(String(await once(nobody.stdout, "data", { signal: AbortSignal.timeout(60_000) })), "taken\n");
    run("a");
    await metricsAtHave("a", `${addressOf("a")}:7449`, /^fjord_gateway_applied 1$/m);
    // Its port is used as soon as it is free.
    await kill("nobody");
    await metricsHave("a", /^fjord_gateway_applied 1$/m);
  });

  it("tells at /metrics how its link is, by what the other gateway answers", async () => {
    await metricsHave(
      "a",
      /^fjord_gateway_applied 1$/m,
      /^fjord_link_ready\{site="b"\} 1$/m,
      /^fjord_link_latency_seconds_count\{site="b"\} [1-9]/m,
      /^fjord_link_mtu_bytes\{site="b"\} 1380$/m,
      /^fjord_link_received_bytes_total\{site="b"\} [1-9]/m,
    );
  });

  it("serves metrics at an address that others reach", async () => {
    const text = await fetched("b", `${addressOf("a")}:7449`);
    assert.match(text, /^fjord_link_ready\{site="b"\} 1$/m);
  });

  it("puts back at once what others take away, and not only when it looks", async () => {
    for (const damage of [
      () => namespaces.run("a-gw", "nft", "delete", "table", "inet", "fjord"),
      () => namespaces.run("a-gw", "nft", "flush", "map", "inet", "fjord", "leaving4"),
      () => namespaces.ip("a-gw", "route", "flush", "table", "7443"),
      () => namespaces.ip("a-gw", "rule", "delete", "preference", "7443"),
    ]) {
      // It looks by itself every half minute, and has looked just now.
      const began = Date.now();
      await damage();
      // What begins while rules are missing has the node's address for as long as it lasts: the next one has not.
      while ((await pods.a1?.ask("240.0.0.21", { proto: "udp", patienceMs: 1_000 })) !== "240.0.0.11")
        assert.ok(Date.now() - began < 25_000, String(damage));
    }
  });

  it("follows its file", async () => {
    for (const site of ["a", "b"] as const) await writeState(site, "241.0.0.0/16");
    assert.equal(await pods.a1?.ask("241.0.0.21", { proto: "udp" }), "241.0.0.11");
  });

  it("sends no larger packets than the node's own interface takes, of which probes tell nothing", async () => {
    for (const site of ["a", "b"]) await namespaces.ip(`${site}-gw`, "link", "set", "dev", "eth0", "mtu", "1400");
    // One process begins anew, and with that what is known.
    await kill("a");
    run("a");
    const route = () => namespaces.ip("a-gw", "route", "show", "table", "7443");
    for (const end = Date.now() + 60_000; !/ mtu lock 1328/.test(await route()); await sleep(200))
      assert.ok(Date.now() < end, await route());
    assert.equal(await pods.a1?.ask("241.0.0.21", { message: "x*1000000" }), "241.0.0.11");
    assert.equal(await pods.b1?.ask("241.0.0.11", { message: "x*1000000" }), "241.0.0.21");
    for (const site of ["a", "b"]) await namespaces.ip(`${site}-gw`, "link", "set", "dev", "eth0", "mtu", "1500");
  });

  const unasked = process.env.FJORD_TEST_LINKS === "1" ? false : "half a minute of waiting: FJORD_TEST_LINKS=1 runs it";
  it("finds out how large packets get there, and sends no larger ones", { skip: unasked }, async () => {
    // What the kernel hands over in one piece is cut up before the wire, as it is on real ones.
    for (const site of ["a", "b"]) await namespaces.ip(`${site}-gw`, "link", "set", "dev", "eth0", "gso_max_segs", "1");
    await namespaces.ip("wan", "link", "set", "dev", "b", "mtu", "1360");
    assert.equal(await pods.a1?.ask("241.0.0.21", { message: "x*1000000", patienceMs: 3_000 }), "nothing");
    // They look again by themselves every five minutes.
    for (const site of ["a", "b"]) {
      await kill(site);
      run(site);
    }
    for (const site of ["a", "b"]) {
      const route = () => namespaces.ip(`${site}-gw`, "route", "show", "table", "7443");
      for (const end = Date.now() + 90_000; !/ mtu lock (12\d\d|130\d)/.test(await route()); await sleep(200))
        assert.ok(Date.now() < end, await route());
    }
    assert.equal(await pods.a1?.ask("241.0.0.21", { message: "x*1000000" }), "241.0.0.11");
    assert.equal(await pods.b1?.ask("241.0.0.11", { message: "x*1000000" }), "241.0.0.21");
    await metricsHave("a", /^fjord_link_mtu_bytes\{site="b"\} (12\d\d|130\d)$/m);
  });

  const interrupt = async (site: string) => {
    const child = running.get(site) as ChildProcess;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  };
  const hasLink = async (site: string) => (await namespaces.ip(`${site}-gw`, "link")).includes(prefix(site));
  const hasNothing = async (site: string) => {
    const gateway = `${site}-gw`;
    assert.equal(await hasLink(site), false);
    assert.equal((await namespaces.run(gateway, "nft", "list", "tables")).trim(), "table inet pods");
    assert.doesNotMatch(await namespaces.ip(gateway, "rule"), /7443|7419/);
    assert.equal((await namespaces.ip(gateway, "route", "show", "table", "all")).includes("241."), false);
  };

  it("takes everything away when it is told to", async () => {
    await interrupt("a");
    assert.equal(await hasLink("a"), true);
    const [code] = (await once(command("a", "remove"), "exit")) as [number];
    assert.equal(code, 0);
    await hasNothing("a");
  });

  it("takes everything away at its end where that was asked for", async () => {
    run("a", "--remove-at-end");
    assert.equal(await pods.a1?.ask("241.0.0.21", { proto: "udp" }), "241.0.0.11");
    await interrupt("a");
    await hasNothing("a");
  });
});
