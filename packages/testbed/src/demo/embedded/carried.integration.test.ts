import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createConnection, type Socket } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { AddressPlan, AGENT_NAMESPACE, Site, VIRTUAL_NODE } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { runFjord } from "@fjord/cli/in-process";
import { KeyStore, PeerTls } from "@fjord/continuum/identity";
import { calledThere } from "@fjord/continuum/network-path";
import { KubeClient, Namespace, NetworkPolicy, Pod, Service } from "@fjord/kube";
import { ensureFjord } from "../../release/fjord-program.ts";
import { waitFor } from "../../wait.ts";
import type { DemoSitePlan } from "../demo-plan.ts";
import { KEPT } from "../kept.ts";
import { MicroSite } from "./micro-site.ts";

const LONG_MS = 120_000;
const PORT = 8080;
const BIG = 128 * 1024 * 1024;
// Others may test on the same machine, and all of 127.0.0.0/8 is this machine.
const second = 17 + Math.floor(Math.random() * 5);
const third = 32 * Math.floor(Math.random() * 7);

const planOf = (name: string, index: number): DemoSitePlan => ({
  name,
  tier: index === 0 ? "cloud" : "edge",
  address: `127.${second}.${240 + third / 32}.${index + 1}`,
  serviceRange: `127.${second + 5}.${third + index}.0/24`,
  podRange: `127.${second}.${third + 16 * index}.0/20`,
  capacity: { cpu: 2, memory: 2, pods: 20 },
});

/**
 * Serves by the first letter that it is sent: who it is; what it was sent; much; what the Service `home` says; and what servers see of it as
 * their client, by the Services `home` and `away`, and by datagrams.
 */
const SERVER = `
import { createSocket } from "node:dgram";
import { createConnection, createServer } from "node:net";
const { POD_IP, NODE_NAME, HOME_SERVICE_HOST, AWAY_SERVICE_HOST, DATAGRAMS_SERVICE_HOST } = process.env;
const pass = (socket, host, letter) => createConnection({ host, port: 80 }, function () {
  this.write(letter);
  this.pipe(socket);
}).on("error", () => socket.destroy());
const echo = createSocket("udp4", (message, { address, port }) =>
  echo.send(NODE_NAME + " " + address + " " + message, port, address));
echo.bind(${PORT}, POD_IP);
createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => socket.destroy());
  socket.once("data", async (first) => {
    const letter = String.fromCharCode(first[0]);
    if (letter === "w") socket.end(NODE_NAME);
    if (letter === "c") {
      let count = first.length;
      socket.on("data", (chunk) => (count += chunk.length));
      socket.on("end", () => socket.end(String(count)));
    }
    if (letter === "b") {
      const piece = Buffer.alloc(1 << 16, 98);
      let left = ${BIG};
      const more = () => {
        while (left > 0) {
          left -= piece.length;
          if (!socket.write(piece)) return void socket.once("drain", more);
        }
        socket.end();
      };
      more();
    }
    if (letter === "h") pass(socket, HOME_SERVICE_HOST, "w");
    if (letter === "a") socket.end(socket.remoteAddress);
    if (letter === "i") pass(socket, HOME_SERVICE_HOST, "a");
    if (letter === "o") pass(socket, AWAY_SERVICE_HOST, "a");
    if (letter === "u") {
      const asks = createSocket("udp4", (answer) => {
        socket.end(answer);
        asks.close();
      });
      asks.send("hello", 53, DATAGRAMS_SERVICE_HOST);
      setTimeout(() => socket.destroy(), 5_000).unref();
    }
  });
}).listen(${PORT}, POD_IP);
`;

let folder: string;
const stop = new AbortController();
const clients: KubeClient[] = [];
const [harbor, wave] = [planOf("harbor", 0), planOf("wave", 1)];
let sites: MicroSite[] = [];
let start: Parameters<MicroSite["start"]>[0];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "fjord-carried-"));
  const { file, compiled } = await ensureFjord(join(KEPT, "programs"));
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  start = { env, fjord: file, page: folder, control: "http://127.0.0.1/", signal: stop.signal, told: () => {} };
  sites = [harbor, wave].map((plan) => new MicroSite(plan, folder, systemClock));
  await Promise.all(sites.map((site) => site.start(start)));
});

after(async () => {
  stop.abort();
  await Promise.all(clients.map((client) => client.close()));
  await Promise.allSettled(sites.map((site) => site.remove()));
  rmSync(folder, { recursive: true, force: true });
});

test("pods of two sites meet by Services, through their agents, and by nothing else", {
  timeout: 600_000,
}, async (t) => {
  const [here, there] = (await Promise.all(sites.map(clientOf))) as [KubeClient, KubeClient];
  const script = join(folder, "server.mjs");
  writeFileSync(script, SERVER);

  // Two sites that share.
  const sharing = { resources: { cpu: "1", memory: "1Gi", pods: "10" } };
  await there.patch(Site, { name: "wave" }, "merge", { spec: { sharing } });
  const token = (await fjord(wave, "pair", "token")).trim();
  await fjord(harbor, "pair", token);
  await fjord(harbor, "peer", "wave", "--cpu=1", "--memory=1Gi", "--pods=10");
  await here.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await fjord(harbor, "offload", "shop");

  // `far` runs there, `near` here; Service `both` has the two.
  for (const [name, selector, protocol] of [
    ["home", { at: "near" }, "TCP"],
    ["away", { at: "far" }, "TCP"],
    ["both", { app: "server" }, "TCP"],
    ["datagrams", { at: "far" }, "UDP"],
  ] as const)
    await here.create(Service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "shop" },
      spec: { selector, ports: [{ port: protocol === "TCP" ? 80 : 53, targetPort: PORT, protocol }] },
    });
  await eventually(() => here.create(Pod, server("near", "shop", script, "DoesNotExist")));
  await eventually(() => here.create(Pod, server("far", "shop", script, "Exists")));
  await eventually(() => here.create(Pod, server("outsider", "default", script, "DoesNotExist")));
  // Something of the provider's own.
  await eventually(() => there.create(Pod, server("own", "default", script, "DoesNotExist")));
  const ask = async (service: string, letter: string) => text((await dial(service)).end(letter));
  const dial = async (service: string): Promise<Socket> => {
    const { spec } = await here.get(Service, { name: service, namespace: "shop" });
    const socket = createConnection({ host: spec?.clusterIP, port: 80, allowHalfOpen: true });
    await once(socket, "connect");
    return socket;
  };

  await t.test("by name, in both directions, and native and offloaded endpoints share the load", async () => {
    await eventually(async () => (await ask("away", "w")) === "wave");
    // A guest reaches a Service of its home.
    await eventually(async () => (await ask("away", "h")) === "harbor");
    const answered = new Set<string>();
    await eventually(async () => answered.add(await ask("both", "w")).size === 2);
    assert.deepEqual([...answered].sort(), ["harbor", "wave"]);
    // What has gone over the border is known by a stand-in, and goes through the agents.
    const far = await here.get(Pod, { name: "far", namespace: "shop" });
    const [plan] = (await here.list(AddressPlan, {})).items;
    assert.equal(plan?.spec.carrier, "Proxy");
    const { podIP = "" } = far.status ?? {};
    assert.match(podIP, new RegExp(`^127\\.${second}\\.${third + 8}\\.`), JSON.stringify(plan?.spec));
    assert.ok((await counted(harbor, "fjord_carried_connections_total", 'asker="here"')) >= 3);
    assert.ok((await counted(wave, "fjord_carried_connections_total", 'asker="here"')) >= 1);
    const { stdout } = await shell(harbor, "network", "explain", "near", "service/away", "-n", "shop");
    assert.match(stdout, /^From pod shop\/near to Service shop\/away .*: it arrives$/m);
    assert.match((await shell(harbor, "network", "status")).stdout, /^wave .* NamesKnown +Proxied /m);
  });

  await t.test("and servers see of a client what stands in for it, by connections and by datagrams", async () => {
    const [plan] = (await here.list(AddressPlan, {})).items;
    const address = async (name: string) => (await here.get(Pod, { name, namespace: "shop" })).status?.podIP ?? "";
    const [near, far] = [await address("near"), await address("far")];
    const nearThere = plan && calledThere(plan.spec, near);
    assert.match(nearThere ?? "", /^127\./);
    await eventually(async () => (await ask("home", "o")) === nearThere);
    await eventually(async () => (await ask("away", "i")) === far);
    await eventually(async () => (await ask("home", "u")) === `wave ${nearThere} hello`);
    // Which is told where it is asked for.
    const { stdout } = await shell(harbor, "network", "explain", far, "near", "-n", "shop");
    assert.match(stdout, /^From pod shop\/far to pod shop\/near: it arrives$/m);
  });

  await t.test("under NetworkPolicies of their namespace, of which twins are there", async () => {
    const only = (labels: Record<string, string>): NetworkPolicy => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "only", namespace: "shop" },
      spec: {
        podSelector: { matchLabels: { at: "far" } },
        ingress: [{ from: [{ podSelector: { matchLabels: labels } }] }],
      },
    });
    const refused = (reason: string) => counted(harbor, "fjord_carried_refused_total", `reason="${reason}"`);
    const tried = (service: string, letter: string) => ask(service, letter).catch(() => "");
    const { resourceVersion } = (await here.create(NetworkPolicy, only({ at: "near" }))).metadata;
    assert.ok(resourceVersion);
    // This program is no pod.
    await eventually(async () => (await tried("away", "w")) === "");
    assert.ok((await refused("ClientUnknown")) >= 1);
    assert.match(await tried("home", "o"), /^127\./);
    assert.match(await tried("home", "u"), /^wave 127\./);
    await here.patch(NetworkPolicy, { name: "only", namespace: "shop" }, "merge", only({ at: "nowhere" }));
    await eventually(async () => (await tried("home", "o")) === "" && (await tried("home", "u")) === "");
    assert.ok((await refused("Policy")) >= 2);
    const told = await shell(harbor, "network", "explain", "near", "far", "-n", "shop").catch((error) => error);
    assert.match(told.stdout, /DROPPED +wave policy/);
    await here.delete(NetworkPolicy, { name: "only", namespace: "shop" });
    await eventually(async () => (await tried("away", "w")) === "wave");
    assert.match(await eventually(() => tried("home", "u")), /^wave 127\./);
  });

  await t.test("and the command that tests it says so, and of an outsider that it is kept out", async () => {
    const words = ["network", "test", "--outsider", "default/outsider"];
    const { stdout } = await eventually(() => shell(harbor, ...words), 500);
    assert.match(stdout, /^harbor +wave +ok +- +- +ok +ok +- +ok$/m);
    assert.match(stdout, /^wave +harbor +- +- +- +ok +ok +- +-$/m);
    assert.match(stdout, /^not tested: dns from harbor to wave.*does not ask the cluster for names/m);
    assert.ok((await counted(harbor, "fjord_carried_refused_total", 'reason="OtherNamespace"')) >= 1);
  });

  await t.test("also by pods that it brings itself, of which nothing is left", async () => {
    const { stdout } = await shell(harbor, "network", "test", "--deploy", "--image", "none");
    assert.match(stdout, /^harbor +wave +ok +- +- +ok +ok +- +ok$/m);
    assert.match(stdout, /^wave +harbor +ok +- +- +ok +ok +- +ok$/m);
    for (const client of [here, there]) {
      const names = (await client.list(Namespace)).items.map(({ metadata }) => metadata.name ?? "");
      assert.deepEqual(
        names.filter((name) => name.includes("network-test")),
        [],
      );
    }
  });

  await t.test("much at once, without being held in memory, and ends of one direction", async () => {
    const socket = await dial("away");
    socket.end(Buffer.alloc(5_000_000, "c"));
    assert.equal(await text(socket), "5000000");
    const before = sites.map(({ memory }) => memory);
    const reader = await dial("away");
    reader.pause();
    reader.end("b");
    // It is sent until nobody takes any more: then all of it would be held by somebody, were it not held back.
    const received = () => counted(harbor, "fjord_carried_received_bytes_total", 'site="wave"');
    const first = await received();
    let taken = first;
    await eventually(async () => {
      const before = taken;
      taken = await received();
      return taken === before && taken > first;
    }, 1_000);
    assert.ok(taken - first < BIG / 2, `${taken - first} bytes came that nobody has read`);
    const grown = sites.map(({ memory }, index) => (memory - (before[index] ?? 0)) / 1024 / 1024);
    t.diagnostic(
      `with ${BIG / 1024 / 1024} MiB on the way the sites grew by ${grown.map(Math.round).join(" and ")} MiB`,
    );
    assert.ok(
      grown.every((mebibytes) => mebibytes < 96),
      `the sites grew by ${grown.join(" and ")} MiB`,
    );
    const began = performance.now();
    assert.equal(await sizeOf(reader), BIG);
    const seconds = (performance.now() - began) / 1000;
    t.diagnostic(
      `it came at ${Math.round(BIG / 1024 / 1024 / seconds)} MiB/s, over both agents and the proxy of the node`,
    );
  });

  await t.test("while a hostile peer gets nowhere else, and is counted", async () => {
    const { key } = (await KeyStore.read(here, AGENT_NAMESPACE)) ?? assert.fail("harbor has no key");
    const { status } = await there.get(Site, { name: "wave" });
    const tls = new PeerTls({ key, clock: systemClock, logger: silentLogger });
    const own = await eventually(
      async () => (await there.get(Pod, { name: "own", namespace: "default" })).status?.podIP,
    );
    const asked = async (address: string, port: number) => {
      const signal = AbortSignal.timeout(LONG_MS);
      const socket = await tls.connect(`https://${wave.address}:7443`, status?.id ?? "", {
        signal,
        timeoutMs: LONG_MS,
      });
      const question = request({
        createConnection: () => socket,
        method: "POST",
        path: "/fjord/v1/connect",
        headers: { host: "wave", connection: "Upgrade", upgrade: "fjord-connect" },
      }).end();
      try {
        await once(question, "upgrade");
        const open = Buffer.from(JSON.stringify({ protocol: "TCP", address, port }));
        const header = Buffer.alloc(4);
        header.writeUInt32BE(open.length);
        socket.write(Buffer.concat([header, open]));
        const [answer] = (await once(socket.resume(), "data")) as [Buffer];
        return JSON.parse(answer.toString("utf8", 4)).refusal?.code ?? "let through";
      } finally {
        socket.destroy();
      }
    };
    const before = await counted(wave, "fjord_carried_refused_total", 'reason="NotShared"');
    for (const [address, port] of [
      [own, PORT],
      ["127.0.0.1", 22],
      [wave.address, 6443],
      [wave.address, 10250],
      [harbor.address, 6443],
      ["169.254.169.254", 80],
    ] as const)
      assert.equal(await asked(address, port), "NotShared", `${address}:${port}`);
    assert.equal((await counted(wave, "fjord_carried_refused_total", 'reason="NotShared"')) - before, 6);
  });

  await t.test(
    "until an agent is killed: what was on its way is reset, and new ones work once it is back",
    async () => {
      const reader = await dial("away");
      reader.write("b");
      await once(reader, "data");
      reader.pause();
      const { pid } = JSON.parse(readFileSync(join(folder, "wave", "process.json"), "utf8")).process;
      const killed = performance.now();
      process.kill(pid, "SIGKILL");
      await assert.rejects(sizeOf(reader), { code: "ECONNRESET" });
      // Its endpoint is left out: who asks for both gets the one that is there.
      await eventually(async () => {
        const answers = await Promise.all(Array.from({ length: 6 }, () => ask("both", "w")));
        return answers.every((answer) => answer === "harbor");
      });
      t.diagnostic(
        `its endpoint was left out ${((performance.now() - killed) / 1000).toFixed(1)} s after it was killed`,
      );
      await sites[1]?.start(start);
      await eventually(async () => (await ask("away", "w")) === "wave");
    },
  );
});

function server(name: string, namespace: string, script: string, operator: "Exists" | "DoesNotExist"): Pod {
  const from = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
  const nodeSelectorTerms = [{ matchExpressions: [{ key: VIRTUAL_NODE, operator }] }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { app: "server", at: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
      containers: [
        {
          name: "main",
          image: "none",
          command: [process.execPath, script],
          env: [
            { name: "POD_IP", ...from("status.podIP") },
            { name: "NODE_NAME", ...from("spec.nodeName") },
          ],
          readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
        },
      ],
    },
  } as Pod;
}

async function clientOf(site: MicroSite): Promise<KubeClient> {
  const client = new KubeClient(await site.config(), { closeGraceMs: 100 });
  clients.push(client);
  return client;
}

function kubeconfigOf({ name }: DemoSitePlan): string {
  return join(folder, name, "site", "kubeconfig");
}

async function fjord(plan: DemoSitePlan, ...words: string[]): Promise<string> {
  const means = { clock: systemClock, signal: stop.signal, random: Math.random, logger: silentLogger, home: homedir() };
  return await runFjord(words, { ...means, env: { ...process.env, KUBECONFIG: kubeconfigOf(plan) } });
}

function shell(plan: DemoSitePlan, ...words: string[]): Promise<{ stdout: string }> {
  const env = { ...process.env, KUBECONFIG: kubeconfigOf(plan) };
  return promisify(execFile)(process.execPath, [start.fjord, ...words], { env });
}

/** The sum of what an agent has counted under a name, with the labels. */
async function counted({ address }: DemoSitePlan, name: string, labels: string): Promise<number> {
  const lines = (await (await fetch(`http://${address}:7445/metrics`)).text()).split("\n");
  const found = lines.filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
  return found.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

async function sizeOf(socket: Socket): Promise<number> {
  let size = 0;
  for await (const chunk of socket) size += (chunk as Buffer).length;
  return size;
}

async function eventually<T>(isSo: () => T | Promise<T>, interval = 100): Promise<NonNullable<T>> {
  let last: unknown;
  const look = async () => {
    try {
      return (await isSo()) || undefined;
    } catch (error) {
      last = error;
      return undefined;
    }
  };
  const found = await waitFor(look, { clock: systemClock, timeout: LONG_MS, interval });
  assert.ok(found, `not within ${LONG_MS} ms: ${isSo} (${last})`);
  return found as NonNullable<T>;
}
