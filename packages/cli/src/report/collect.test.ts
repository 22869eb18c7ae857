import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Site } from "@fjord/api";
import { ApiError, type KubeClient, Namespace, Node, Pod } from "@fjord/kube";
import { collect, collectWithout } from "./collect.ts";

const SECRET = "planted-4711";
const signal = new AbortController().signal;

/** A site in one process: no pod is its agent, and its node serves its log, if it does. */
function microSite(log: string | undefined): KubeClient {
  const labels = { "fjord.dev/runtime": "process" };
  const objects = new Map<unknown, object[]>([
    [Site, [{ metadata: { name: "m1" }, status: { role: "Self", published: { version: "9.9.9" } } }]],
    [Node, [{ metadata: { name: "m1", labels } }]],
    [Namespace, [{ metadata: { name: "shop" } }]],
    [
      Pod,
      [
        {
          metadata: { name: "web", namespace: "shop" },
          spec: { containers: [{ name: "main", args: [SECRET], env: [{ name: "KEY", value: SECRET }] }] },
        },
        { metadata: { name: "apart", namespace: "default" } },
      ],
    ],
  ]);
  const list = async (kind: unknown, { namespace }: { namespace?: string } = {}) => ({
    items: namespace === undefined ? (objects.get(kind) ?? []) : [],
  });
  const raw = async (_: string, path: string) => {
    if (path === "/version") return { body: Buffer.from('{"gitVersion":"v1.36.3"}') };
    if (log === undefined) throw new ApiError({ action: `get ${path}`, statusCode: 404, text: "no such path" });
    assert.equal(path, "/api/v1/nodes/m1/proxy/logs/fjord.log");
    return { body: Buffer.from(log) };
  };
  return { list, raw } as unknown as KubeClient;
}

async function report(log: string | undefined, logs: string[] = []) {
  const notes: string[] = [];
  const context = { signal, note: (text: string) => void notes.push(text) };
  const files = await collect(microSite(log), { namespace: "fjord-system", logs, context });
  return { notes, file: Object.fromEntries(files.map(({ name, content }) => [name, content])) };
}

test("of a site in one process there is the log, the agent's version, and the pods that Fjord has to do with", async () => {
  const { file, notes } = await report(`serving\nredeeming token=${SECRET}\nAuthorization: Bearer ${SECRET}-x\n`);
  assert.match(file["agent/node-m1.log"] ?? "", /^serving\nredeeming token=\[removed\]\n/);
  assert.match(file["versions.yaml"] ?? "", /agent:\n {2}site: m1\n {2}version: 9\.9\.9\n/);
  assert.match(file["objects/pods.yaml"] ?? "", /name: web/);
  assert.doesNotMatch(file["objects/pods.yaml"] ?? "", /name: apart/);
  assert.equal(file["problems.txt"], "none: all of it could be read\n");
  assert.deepEqual(notes, []);
  assert.ok(!Object.values(file).join("\n").includes(SECRET));
});

test("an agent whose log cannot be had is told of, with what to do", async () => {
  const { file, notes } = await report(undefined);
  assert.match(file["problems.txt"] ?? "", /the agent's log is not in it: .* Add the file .*: --log FILE\n$/);
  assert.match(notes.join(""), /--log FILE/);
});

test("of a cluster that does not answer there is what can be had without it, and why there is no more", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fjord-report-"));
  try {
    const log = join(folder, "agent.log");
    await writeFile(log, `serving\nredeeming token=${SECRET}\n`);
    const context = { signal, note: () => {} };
    const files = await collectWithout(new Error("no connection to 192.0.2.1"), { logs: [log], context });
    const file = Object.fromEntries(files.map(({ name, content }) => [name, content]));
    assert.deepEqual(Object.keys(file), ["versions.yaml", "agent/given-1.log", "problems.txt"]);
    assert.match(file["versions.yaml"] ?? "", /^client:\n {2}version: \d/);
    assert.equal(file["agent/given-1.log"], "serving\nredeeming token=[removed]\n");
    assert.equal(file["problems.txt"], "the cluster does not answer: no connection to 192.0.2.1\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("whoever interrupts it while a long log is read is heard", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fjord-report-"));
  try {
    const log = join(folder, "agent.log");
    await writeFile(log, "all is well, and password=x is known\n".repeat(5_000));
    const interrupt = new AbortController();
    const context = { signal: interrupt.signal, note: () => {} };
    const collecting = collectWithout(new Error("no connection"), { logs: [log], context });
    setImmediate(() => interrupt.abort(new Error("interrupted")));
    await assert.rejects(collecting, /^Error: interrupted$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
