import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ensureHostsFile, hostNameOf, hostsFile } from "./hosts-file.ts";
import { testPod } from "./testing/pods.ts";

test("pods are called by their name, host name and subdomain", () => {
  const named = (spec: Parameters<typeof testPod>[0]) => hostNameOf(testPod(spec), "cluster.local");
  assert.deepEqual(named({}), { name: "web", domain: "" });
  assert.deepEqual(named({ hostname: "busy" }), { name: "busy", domain: "" });
  assert.deepEqual(named({ subdomain: "sub" }), { name: "web", domain: "sub.test.svc.cluster.local" });
  assert.deepEqual(named({ hostname: "x", subdomain: "sub", hostnameOverride: "my.host" }), {
    name: "my.host",
    domain: "",
  });
  assert.equal(named({ hostname: `${"a".repeat(62)}-tail` }).name, "a".repeat(62));
});

test("a pod's hosts file has its addresses and aliases", () => {
  const pod = testPod({
    subdomain: "sub",
    hostAliases: [
      { ip: "1.2.3.4", hostnames: ["foo", "bar.example"] },
      { ip: "fd00::9", hostnames: ["six"] },
    ],
  });
  assert.equal(
    hostsFile(pod, ["10.0.0.5", "fd00::5"], "cluster.local", ""),
    [
      "# Kubernetes-managed hosts file.",
      "127.0.0.1\tlocalhost",
      "::1\tlocalhost ip6-localhost ip6-loopback",
      "fe00::0\tip6-localnet",
      "fe00::0\tip6-mcastprefix",
      "fe00::1\tip6-allnodes",
      "fe00::2\tip6-allrouters",
      "10.0.0.5\tweb.sub.test.svc.cluster.local\tweb",
      "fd00::5\tweb.sub.test.svc.cluster.local\tweb",
      "",
      "# Entries added by HostAliases.",
      "1.2.3.4\tfoo\tbar.example",
      "fd00::9\tsix",
      "",
    ].join("\n"),
  );
});

test("on the host's network the machine's file is kept", () => {
  const pod = testPod({ hostNetwork: true, hostAliases: [{ ip: "1.2.3.4", hostnames: ["foo"] }] });
  assert.equal(
    hostsFile(pod, [], "cluster.local", "127.0.0.1 machine\n"),
    "# Kubernetes-managed hosts file (host network).\n127.0.0.1 machine\n\n# Entries added by HostAliases.\n1.2.3.4\tfoo\n",
  );
});

test("the file is replaced only where it differs", async (t) => {
  const base = await mkdtemp(join(tmpdir(), "hosts-"));
  t.after(() => rm(base, { recursive: true, force: true }));
  const path = join(base, "etc-hosts");
  await ensureHostsFile(path, "one\n");
  const first = await stat(path);
  assert.equal(first.mode & 0o777, 0o644);
  await ensureHostsFile(path, "one\n");
  assert.equal((await stat(path)).ino, first.ino);
  await ensureHostsFile(path, "two\n");
  assert.equal(await readFile(path, "utf8"), "two\n");
});
