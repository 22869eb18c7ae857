import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { findBinaries } from "../binaries/find.ts";
import type { Site } from "../site.ts";
import { startTestBed } from "../testing.ts";
import { waitFor } from "../wait.ts";
import type { RealNode } from "./node.ts";
import type { RealNodes } from "./real-nodes.ts";
import { realNodesSkip, testNodes } from "./testing.ts";

const run = promisify(execFile);

describe("a site with two real nodes", { skip: realNodesSkip(), timeout: 240_000 }, () => {
  let provider: RealNodes;
  let bed: Bed;
  let site: Site;
  let kubectlFile: string;
  let settings: string[];

  before(async () => {
    settings = machineSettings();
    provider = testNodes();
    kubectlFile = findBinaries({ env: process.env }).binaries.path("kubectl");
    bed = await startTestBed({ sites: 1, nodes: { count: 2, provider } });
    site = bed.site("site-1");
    await kubectlWith(JSON.stringify(web), "apply", "--filename=-");
    await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
  });

  after(() => bed?.stop());

  function kubectl(...args: string[]): Promise<string> {
    return kubectlWith(undefined, ...args);
  }

  async function kubectlWith(input: string | undefined, ...args: string[]): Promise<string> {
    const running = run(kubectlFile, ["--kubeconfig", site.kubeconfig, ...args]);
    if (input !== undefined) running.child.stdin?.write(input);
    running.child.stdin?.end();
    return (await running).stdout;
  }

  async function webPods(): Promise<{ name: string; ip: string; node: string }[]> {
    const line = '{range .items[*]}{.metadata.name} {.status.podIP} {.spec.nodeName}{"\\n"}{end}';
    const text = await kubectl("get", "pods", "--selector=app=web", `--output=jsonpath=${line}`);
    return text
      .trim()
      .split("\n")
      .map((each) => each.split(" "))
      .map(([name = "", ip = "", node = ""]) => ({ name, ip, node }));
  }

  async function webPodOn(node: RealNode | undefined) {
    const pod = (await webPods()).find((each) => each.node === node?.name);
    assert.ok(pod, `no pod on ${node?.name}`);
    return pod;
  }

  test("the pods of a deployment run on both nodes, with addresses of their node", async () => {
    const pods = await webPods();
    assert.equal(pods.length, 3);
    assert.deepEqual([...new Set(pods.map(({ node }) => node))].sort(), ["site-1-node-1", "site-1-node-2"]);
    for (const { ip, node } of pods) {
      const plan = provider.nodes(site).find(({ name }) => name === node)?.plan;
      assert.equal(ip.split(".").slice(0, 3).join("."), plan?.podCidr.split(".").slice(0, 3).join("."));
    }
  });

  test("logs and exec reach a container through the API server", async () => {
    const { name } = await webPodOn(provider.nodes(site)[1]);
    assert.equal(await kubectl("logs", name), "serving\n");
    assert.equal(await kubectl("exec", name, "--", "hostname"), `${name}\n`);
  });

  test("port-forward carries a request to a pod", async (t) => {
    const { name } = await webPodOn(provider.nodes(site)[0]);
    const forward = spawn(kubectlFile, ["--kubeconfig", site.kubeconfig, "port-forward", name, ":8080"]);
    t.after(() => forward.kill());
    const port = await forwardedPort(forward);
    const response = await fetch(`http://127.0.0.1:${port}/hostname`);
    assert.equal(await response.text(), `${name}\n`);
  });

  test("a pod reaches a pod on the other node", async () => {
    const [one, two] = provider.nodes(site);
    const [from, to] = [await webPodOn(one), await webPodOn(two)];
    assert.equal(await get(from.name, `http://${to.ip}:8080/hostname`), `${to.name}\n`);
  });

  test("a pod reaches a service by its name, and every pod behind it", async () => {
    const names = (await webPods()).map(({ name }) => `${name}\n`).sort();
    for (const node of provider.nodes(site)) {
      const { name } = await webPodOn(node);
      const answered = new Set<string>();
      // Names and endpoints reach the node in their own time.
      const first = () => get(name, "http://web/hostname").catch(() => undefined);
      await waitFor(first, { clock: systemClock, timeout: 60_000 });
      for (let i = 0; i < 60 && answered.size < 3; i++) answered.add(await get(name, "http://web/hostname"));
      assert.deepEqual([...answered].sort(), names);
    }
  });

  test("a pod finds the API server by name", async () => {
    const { name } = await webPodOn(provider.nodes(site)[0]);
    const answer = await kubectl("exec", name, "--", "nslookup", "kubernetes.default.svc.cluster.local");
    assert.ok(answer.includes(site.layout.apiServiceAddress), answer);
  });

  test("a name outside the cluster is refused at once", async () => {
    const { name } = await webPodOn(provider.nodes(site)[0]);
    const refusal = async () => {
      const began = Date.now();
      await assert.rejects(get(name, "http://example.com/"), /bad address/);
      return Date.now() - began;
    };
    const times = [await refusal()];
    // A machine that does other work as well adds to every time: what is soon enough once is soon enough.
    while (times.length < 3 && Math.min(...times) >= 4_000) times.push(await refusal());
    assert.ok(Math.min(...times) < 4_000, `the answer took as long as silence would: ${times.join(", ")} ms`);
  });

  test("a pod reaches the host on its bridge and nowhere else", async (t) => {
    const elsewhere = otherHostAddress(site.layout.nodeNetwork?.address);
    if (elsewhere === undefined) return t.skip("the machine has no other address");
    const server = createServer((_, response) => response.end("host\n")).listen(0, "0.0.0.0");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const { name } = await webPodOn(provider.nodes(site)[0]);
    assert.equal(await get(name, `http://${site.layout.nodeNetwork?.address}:${port}/`), "host\n");
    await assert.rejects(get(name, `http://${elsewhere}:${port}/`, 3), /Network is unreachable|exit code 143/);
  });

  test("the host reaches pods, as the API server does for webhooks", async () => {
    const { ip, name } = await webPodOn(provider.nodes(site)[1]);
    const response = await fetch(`http://${ip}:8080/hostname`);
    assert.equal(await response.text(), `${name}\n`);
  });

  test("a pod runs an image that the test made", async () => {
    const script = "#!/bin/sh\necho made on the spot\n";
    await provider.loadImage(site, {
      name: "shop/greeter:1",
      files: [{ path: "opt/greet", content: Buffer.from(script), mode: 0o755 }],
      entrypoint: ["/opt/greet"],
    });
    await kubectl("run", "greeter", "--image=shop/greeter:1", "--restart=Never");
    await kubectl("wait", "pod/greeter", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s");
    assert.equal(await kubectl("logs", "greeter"), "made on the spot\n");
  });

  test("a deleted pod hears of it first, and says its last words", async () => {
    const script = 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 1 & wait $!; done';
    await kubectl("run", "polite", "--image=busybox:1", "--restart=Never", "--", "sh", "-c", script);
    await kubectl("wait", "pod/polite", "--for=condition=Ready", "--timeout=90s");
    const follower = spawn(kubectlFile, ["--kubeconfig", site.kubeconfig, "logs", "polite", "--follow"]);
    const first = once(follower.stdout, "data");
    const log = text(follower.stdout);
    await first;
    await kubectl("delete", "pod", "polite", "--timeout=90s");
    assert.equal(await log, "ready\nbye\n");
  });

  test("containers outlive their kubelet and containerd, and obey the next ones", async () => {
    const node = provider.nodes(site)[0];
    assert.ok(node);
    const { name } = await webPodOn(node);
    const before = await kubectl("exec", name, "--", "cat", "/etc/started");
    await Promise.all([node.process("kubelet").kill(), node.process("containerd").kill()]);
    await node.process("containerd").start();
    await node.process("kubelet").start();
    const again = await waitFor(() => kubectl("exec", name, "--", "cat", "/etc/started").catch(() => undefined), {
      clock: systemClock,
      timeout: 90_000,
    });
    assert.equal(again, before);
  });

  test("a node that is switched off and on runs its pods again", async () => {
    const node = provider.nodes(site)[1];
    assert.ok(node);
    const { name } = await webPodOn(node);
    const before = await kubectl("exec", name, "--", "cat", "/etc/started");
    await node.restart();
    const isAnother = async () => (await kubectl("exec", name, "--", "cat", "/etc/started")) !== before;
    assert.ok(await waitFor(() => isAnother().catch(() => false), { clock: systemClock, timeout: 90_000 }));
  });

  test("nothing is left when it stops, and the machine's settings are as before", async () => {
    const bridge = site.layout.nodeNetwork?.bridge ?? "none";
    assert.ok(!empty(await traces(bed, bridge)), "the test does not see a bed that is there");
    await bed.stop();
    const left = await waitFor(async () => empty(await traces(bed, bridge)), {
      clock: systemClock,
      timeout: 30_000,
    });
    assert.ok(left, JSON.stringify(await traces(bed, bridge)));
    assert.deepEqual(machineSettings(), settings);
  });

  async function get(pod: string, url: string, seconds = 10): Promise<string> {
    // Debian's static busybox crashes in wget's own -T.
    return kubectl("exec", pod, "--", "timeout", `${seconds}`, "wget", "-q", "-O", "-", url);
  }
});

const labels = { app: "web" };
const web = {
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: 3,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: "kubernetes.io/hostname",
                whenUnsatisfiable: "DoNotSchedule",
                labelSelector: { matchLabels: labels },
              },
            ],
            containers: [
              {
                name: "web",
                image: "busybox:1",
                command: [
                  "sh",
                  "-c",
                  "echo serving; cat /proc/sys/kernel/random/uuid > /etc/started; exec httpd -f -p 8080 -h /etc",
                ],
                readinessProbe: { httpGet: { path: "/hostname", port: 8080 }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ],
};

/** What there is of a bed on the machine. */
async function traces({ id, directory }: Bed, bridge: string) {
  const prefix = bridge.replace(/-\d+$/, "");
  const groups = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter((fields) => fields[2]?.startsWith("cgroup"))
    .map((fields) => fields[1] as string);
  const { stdout } = await run("ps", ["-eo", "pid,stat,args"]);
  const cgroupMember = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(`/${prefix}`);
    } catch {
      return false;
    }
  };
  return {
    links: readdirSync("/sys/class/net").filter((name) => name.startsWith(prefix)),
    cgroups: groups.flatMap((mount) => readdirSync(mount).filter((name) => name.startsWith(prefix))),
    mounts: readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(`/${id}/`)),
    processes: stdout
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([pid = "", state = "", ...args]) => {
        if (state.startsWith("Z") || args[0] === "ps") return false;
        return args.join(" ").includes(`/${id}/`) || cgroupMember(pid);
      })
      .map((fields) => fields.join(" ")),
    directories: existsSync(directory) ? [directory] : [],
  };
}

/** What a kubelet or a network plugin would change for everyone. */
function machineSettings(): string[] {
  const names = ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"];
  return names.map((name) => readFileSync(`/proc/sys/${name}`, "utf8"));
}

function empty(found: Record<string, readonly unknown[]>): boolean {
  return Object.values(found).every((each) => each.length === 0);
}

function forwardedPort(forward: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const note = (chunk: Buffer) => {
      text += chunk;
      const match = /127\.0\.0\.1:(\d+) ->/.exec(text);
      if (match?.[1]) resolve(match[1]);
    };
    forward.stdout?.on("data", note);
    forward.stderr?.on("data", note);
    forward.once("exit", () => reject(new Error(`kubectl port-forward ended: ${text}`)));
  });
}

function otherHostAddress(bridgeAddress: string | undefined): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(
      ({ family, internal, address }) =>
        family === "IPv4" && !internal && !address.startsWith("198.18.") && address !== bridgeAddress,
    )?.address;
}
