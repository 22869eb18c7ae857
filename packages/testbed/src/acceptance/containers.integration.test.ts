import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { HOME_API_ANNOTATION } from "@fjord/api";
import { fjord } from "../agents/index.ts";
import { type KubectlVersion, kubectlProgram } from "../kubectl-program.ts";
import { kubectlSkip, realNodesSkip, testedKubectls, testNodes } from "../testing.ts";
import { AcceptanceBed, eventually, type PodShape } from "./acceptance-bed.ts";
import { ended, page, said } from "./running-command.ts";
import { cronJob, deployment, job, namespace, pod } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const NAMESPACE = "inside";
const SERVER = [
  "sh",
  "-c",
  "trap 'exit 0' TERM; mkdir /www; echo page > /www/index.html; httpd -p 8080 -h /www; i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2 & wait $!; done",
];

const skip = realNodesSkip();

describe("containers at another site", { skip, timeout: 600_000 }, () => {
  let bed: AcceptanceBed;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-acceptance-"));
    bed = await AcceptanceBed.start({ sites: 2, nodes: { count: 1, provider: testNodes() } }, () => ({
      flags: ["--guest-privilege=capabilities", "--guest-privilege=hostPath"],
    }));
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=30");
    await bed.apply(HOME, namespace(NAMESPACE));
    await fjord(bed.site(HOME), "offload", NAMESPACE);
    const server = { namespace: NAMESPACE, nodeName: AWAY, command: SERVER };
    await bed.apply(HOME, pod("server", server), deployment("spread", { namespace: NAMESPACE, spread: true }));
    // Its minute passes while others are looked at.
    const minutely = { namespace: NAMESPACE, nodeName: AWAY, command: ["sh", "-c", "echo ticked"] };
    await bed.apply(HOME, cronJob("minutely", minutely));
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "wait", "--for=condition=Ready", "pod/server", "--timeout=150s");
  });

  after(async () => {
    await bed?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  it("a Deployment runs on both sides of the border", async () => {
    await bed.rolledOut(HOME, NAMESPACE, "deployment/spread");
    const nodes = Object.entries(await bed.placement(HOME, NAMESPACE))
      .filter(([name]) => name.startsWith("spread-"))
      .map(([, node]) => node);
    assert.deepEqual(nodes.sort(), [`${HOME}-node-1`, AWAY]);
  });

  for (const minor of testedKubectls()) {
    describe(`kubectl ${minor}`, { skip: kubectlSkip(minor) }, () => {
      const kubectl = (...args: readonly string[]) => bed.kubectlOf(minor, HOME, ["-n", NAMESPACE, ...args]);

      it("logs -f gives lines as they are written", async () => {
        const logs = start(minor, "logs", "--follow", "server");
        await said(logs, /line 3\n[\s\S]*line 6\n/);
        await ended(logs);
      });

      it("exec carries input, output and the exit code", async () => {
        const command = ["exec", "-i", "server", "--", "sh", "-c", "cat; echo here >&2; exit 3"];
        const child = spawn(kubectlProgram(minor), [
          "--kubeconfig",
          bed.site(HOME).kubeconfig,
          "-n",
          NAMESPACE,
          ...command,
        ]);
        child.stdin.end("to the pod\n");
        const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
        assert.deepEqual([out, code], ["to the pod\n", 3]);
        assert.match(errors, /here/);
      });

      it("cp copies there and back", async () => {
        const [there, back] = [join(directory, "there"), join(directory, `back-${minor}`)];
        const content = `${minor}\n`.repeat(20_000);
        await writeFile(there, content);
        await kubectl("cp", there, "server:/tmp/file");
        await kubectl("cp", "server:/tmp/file", back);
        assert.equal(await readFile(back, "utf8"), content);
      });

      it("attach hears the container", async () => {
        const attached = start(minor, "attach", "server");
        await said(attached, /line \d+\n/);
        await ended(attached);
      });

      it("port-forward reaches what listens there", async () => {
        const forward = start(minor, "port-forward", "pod/server", ":8080");
        const [, port] = await said(forward, /Forwarding from 127\.0\.0\.1:(\d+)/);
        assert.match(await page(Number(port)), /^HTTP\/1\.[01] 200 [\s\S]*page\n$/);
        assert.match(await page(Number(port)), /page\n$/);
        await ended(forward);
      });
    });
  }

  it("kubectl debug adds a container to a running pod", async () => {
    const added = ["debug", "server", "--image=busybox:1", "--container=probe", "--", "sh", "-c", "echo probed"];
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, ...added);
    const logs = () => bed.kubectl(HOME, `-n=${NAMESPACE}`, "logs", "server", "--container=probe");
    await eventually("the probe has written", async () => /probed/.test(await logs()));
  });

  it("a Job completes there, and stays completed", async () => {
    const options = { namespace: NAMESPACE, nodeName: AWAY, command: ["sh", "-c", "echo result"] };
    await bed.apply(HOME, job("sum", options));
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "wait", "--for=condition=Complete", "job/sum", "--timeout=150s");
    assert.match(await bed.kubectl(HOME, `-n=${NAMESPACE}`, "logs", "job/sum"), /result/);
    await bed.agent(HOME).process.restart();
    await bed.agent(AWAY).process.restart();
    await eventually("the node is Ready after its agents were restarted", () => ready(AWAY));
    const pods = await bed.get<{ items: PodShape[] }>(HOME, "pods", `-n=${NAMESPACE}`, "--selector=app=sum");
    assert.deepEqual(
      pods.items.map(({ status }) => status.phase),
      ["Succeeded"],
    );
    const twin = await bed.twin(HOME, NAMESPACE);
    const guests = await bed.get<{ items: PodShape[] }>(AWAY, "pods", `-n=${twin}`, "--selector=app=sum");
    assert.ok(
      guests.items.every(({ status }) => status.phase === "Succeeded"),
      "nothing runs it again",
    );
  });

  it("a failing Job fails, with its exit code", async () => {
    const options = { namespace: NAMESPACE, nodeName: AWAY, command: ["sh", "-c", "exit 7"] };
    await bed.apply(HOME, job("wrong", options));
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "wait", "--for=condition=Failed", "job/wrong", "--timeout=150s");
    const code = "--output=jsonpath={.items[0].status.containerStatuses[0].state.terminated.exitCode}";
    assert.equal(await bed.kubectl(HOME, `-n=${NAMESPACE}`, "get", "pods", "--selector=app=wrong", code), "7");
  });

  it("a CronJob has its Jobs done there, each once", async () => {
    interface JobShape {
      readonly metadata: { readonly name: string; readonly ownerReferences?: readonly { readonly name: string }[] };
      readonly status: { readonly succeeded?: number; readonly failed?: number };
    }
    const first = await eventually("a Job of its is complete", async () => {
      const { items } = await bed.get<{ items: JobShape[] }>(HOME, "jobs", `-n=${NAMESPACE}`);
      const own = items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === "minutely");
      return own.find(({ status }) => status.succeeded !== undefined || status.failed !== undefined);
    });
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "patch", "cronjob", "minutely", '--patch={"spec":{"suspend":true}}');
    const { name } = first.metadata;
    assert.deepEqual([first.status.succeeded, first.status.failed], [1, undefined]);
    assert.equal(await bed.kubectl(HOME, `-n=${NAMESPACE}`, "logs", `job/${name}`), "ticked\n");
    const placed = Object.entries(await bed.placement(HOME, NAMESPACE)).filter(([pod]) => pod.startsWith(name));
    assert.deepEqual(
      placed.map(([, node]) => node),
      [AWAY],
    );
  });

  it("a pod that asks for it has a token that the home API takes", async () => {
    const annotations = { [HOME_API_ANNOTATION]: "true" };
    await bed.apply(HOME, pod("caller", { namespace: NAMESPACE, nodeName: AWAY, annotations }));
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "wait", "--for=condition=Ready", "pod/caller", "--timeout=150s");
    const file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    const token = await bed.kubectl(HOME, `-n=${NAMESPACE}`, "exec", "caller", "--", "cat", file);
    const { server } = bed.site(HOME).config;
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: token.trim() } };
    const answer = await bed.kubectlOf("1.36", HOME, ["create", "-f", "-", "--output=json"], JSON.stringify(review));
    const { status } = JSON.parse(answer) as { status: { authenticated?: boolean; user?: { username: string } } };
    assert.deepEqual(
      [status.authenticated, status.user?.username],
      [true, `system:serviceaccount:${NAMESPACE}:default`],
      server,
    );
  });

  it("a guest has the privileges that its provider gives, and no others", async () => {
    const show = ["sh", "-c", "grep CapEff /proc/self/status; ls /node; sleep 600"];
    const options = { namespace: NAMESPACE, nodeName: AWAY, command: show };
    const given = (name: string, securityContext: object) => {
      const made = pod(name, options) as { spec: { containers: object[] } };
      const volumeMounts = [{ name: "node", mountPath: "/node" }];
      const containers = made.spec.containers.map((each) => ({ ...each, securityContext, volumeMounts }));
      const volumes = [{ name: "node", hostPath: { path: bed.site(AWAY).layout.directory } }];
      return { ...made, spec: { ...made.spec, containers, volumes } };
    };
    await bed.apply(
      HOME,
      given("able", { capabilities: { add: ["NET_ADMIN"] } }),
      given("greedy", { privileged: true }),
    );
    await bed.kubectl(HOME, `-n=${NAMESPACE}`, "wait", "--for=condition=Ready", "pod/able", "--timeout=150s");
    const log = await eventually("it has looked around", async () => {
      const text = await bed.kubectl(HOME, `-n=${NAMESPACE}`, "logs", "able");
      return text.includes("CapEff") && text.includes("pki") && text;
    });
    const capabilities = BigInt(`0x${/CapEff:\s+(\w+)/.exec(log)?.[1]}`);
    assert.equal((capabilities >> 12n) & 1n, 1n, `CAP_NET_ADMIN is number 12: ${log}`);
    assert.equal((capabilities >> 21n) & 1n, 0n, `CAP_SYS_ADMIN is number 21: ${log}`);
    const why = await eventually("the other is told why not", async () => {
      const { status } = await bed.get<PodShape>(HOME, "pod", "greedy", `-n=${NAMESPACE}`);
      return status.conditions?.find(({ type, status: is }) => type === "fjord.dev/Offloaded" && is === "False");
    });
    assert.match(why.message ?? "", /container main is privileged/);
  });

  async function ready(node: string): Promise<boolean> {
    const condition = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    return (await bed.kubectl(HOME, "get", "node", node, condition)) === "True";
  }

  function start(minor: KubectlVersion, ...args: readonly string[]): ChildProcess {
    const all = ["--kubeconfig", bed.site(HOME).kubeconfig, "--namespace", NAMESPACE, ...args];
    return spawn(kubectlProgram(minor), all, { stdio: ["ignore", "pipe", "pipe"] });
  }
});
