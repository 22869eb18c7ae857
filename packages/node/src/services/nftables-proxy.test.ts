import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { NftablesProxy, runNft } from "./nftables-proxy.ts";
import type { ServicePort } from "./service-plan.ts";

const run = promisify(execFile);
const skip = await skipReason();
const NAMESPACE = `fjord-nft-${process.pid}`;
const inNamespace = ["ip", "netns", "exec", NAMESPACE];

/** Three pods at addresses of a dummy-free loopback, in a network of their own. */
describe("Services in the kernel", { skip }, () => {
  let server: ReturnType<typeof spawn>;
  const proxy = new NftablesProxy({ nodeAddresses: ["10.9.0.1"] }, (text) => runNft(text, [...inNamespace, "nft"]));

  before(async () => {
    await run("ip", ["netns", "add", NAMESPACE]);
    await run("ip", ["-n", NAMESPACE, "link", "set", "lo", "up"]);
    for (const ip of ["10.9.0.1/32", "10.9.1.1/32", "10.9.1.2/32", "10.9.1.3/32"]) {
      await run("ip", ["-n", NAMESPACE, "address", "add", ip, "dev", "lo"]);
    }
    await run("ip", ["-n", NAMESPACE, "route", "add", "10.96.0.0/16", "dev", "lo"]);
    const program = `
      const net = require("node:net");
      let left = 3;
      for (const ip of ["10.9.1.1", "10.9.1.2", "10.9.1.3"]) {
        net.createServer((socket) => { socket.on("error", () => {}); socket.write(ip + "\\n"); socket.pipe(socket); })
          .listen(8080, ip, () => { if (--left === 0) console.log("ready"); });
      }`;
    server = spawn("ip", [...inNamespace.slice(1), process.execPath, "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => server.stdout?.once("data", resolve));
  });
  after(async () => {
    server?.kill("SIGKILL");
    await run("ip", ["netns", "del", NAMESPACE]);
  });

  const port = (pods: number[], more: Partial<ServicePort> = {}): ServicePort => {
    const endpoints = pods.map((pod) => ({ ip: `10.9.1.${pod}`, port: 8080 }));
    return {
      id: "shop/web:http",
      protocol: "TCP",
      clusterIps: ["10.96.0.7"],
      port: 80,
      externalIps: [],
      nodePort: undefined,
      inside: endpoints,
      outside: endpoints,
      keepsClient: false,
      affinitySeconds: undefined,
      ...more,
    };
  };
  /** Who answers, as often as asked; "refused" where nobody does. */
  const ask = async (times: number, to = "10.96.0.7", number = 80): Promise<string[]> => {
    const program = `
      const net = require("node:net");
      const one = () => new Promise((resolve) => {
        const socket = net.connect({ host: "${to}", port: ${number}, localAddress: "10.9.0.1" });
        socket.once("data", (data) => { resolve(String(data).trim()); socket.destroy(); });
        socket.once("error", (error) => resolve(error.code === "ECONNREFUSED" ? "refused" : error.code));
      });
      (async () => { for (let i = 0; i < ${times}; i++) console.log(await one()); })();`;
    const { stdout } = await run("ip", [...inNamespace.slice(1), process.execPath, "-e", program], { timeout: 90_000 });
    return stdout.trim().split("\n");
  };

  it("are shared by their endpoints", async () => {
    await proxy.apply([port([1, 2])]);
    assert.deepEqual([...new Set(await ask(8))].sort(), ["10.9.1.1", "10.9.1.2"]);
  });

  it("follow their endpoints at once, by one transaction", async () => {
    await proxy.apply([port([3])]);
    assert.deepEqual(await ask(3), ["10.9.1.3", "10.9.1.3", "10.9.1.3"]);
  });

  it("refuse where there is none, and are gone when they are", async () => {
    await proxy.apply([port([])]);
    assert.deepEqual(await ask(1), ["refused"]);
    await proxy.apply([]);
    const { stdout } = await run("ip", [...inNamespace.slice(1), "nft", "list", "table", "ip", "fjord-services"]);
    assert.ok(!stdout.includes("10.96.0.7"));
  });

  it("keep a client with its endpoint, over changes of others", async () => {
    await proxy.apply([port([1, 2, 3], { affinitySeconds: 60 })]);
    const [first, ...rest] = await ask(5);
    assert.ok(rest.every((one) => one === first));
    const kept = Number(first?.slice(-1));
    await proxy.apply([port([kept, kept === 1 ? 2 : 1], { affinitySeconds: 60 })]);
    assert.deepEqual([...new Set(await ask(4))], [first]);
  });

  it("are reached by node ports", async () => {
    await proxy.apply([port([1], { nodePort: 30_080 })]);
    assert.deepEqual(await ask(1, "10.9.0.1", 30_080), ["10.9.1.1"]);
  });

  it("are put back by a whole table where somebody has taken it away", async () => {
    await run("ip", [...inNamespace.slice(1), "nft", "delete", "table", "ip", "fjord-services"]);
    await proxy.apply([port([2])]);
    assert.deepEqual(await ask(1), ["10.9.1.2"]);
  });

  it("leave nothing behind", async () => {
    await proxy.remove();
    const { stdout } = await run("ip", [...inNamespace.slice(1), "nft", "list", "tables"]);
    assert.equal(stdout.trim(), "");
  });
});

async function skipReason(): Promise<string | false> {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  try {
    await run("nft", ["--version"]);
    return false;
  } catch {
    return "nft is not installed (Debian: nftables)";
  }
}
