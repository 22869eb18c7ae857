import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeClient } from "@fjord/kube";
import { discoverHomeApi } from "./home-api.ts";

/** A cluster that has the Service of its API at 10.96.0.1, and these addresses behind it. */
function cluster(...addresses: readonly string[]): Pick<KubeClient, "get" | "list"> {
  const slice = { endpoints: addresses.map((each) => ({ addresses: [each] })), ports: [{ port: 6443 }] };
  return {
    get: async () => ({ spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1", "fd00::1"] } }) as never,
    list: async () => ({ items: [slice] }) as never,
  };
}

describe("where pods elsewhere find the home API", () => {
  it("is where the agent finds it, by whatever name", async () => {
    const found = (server: string) => discoverHomeApi(cluster("192.0.2.7"), server);
    assert.deepEqual(await found("https://203.0.113.5:6443"), { host: "203.0.113.5", port: "6443" });
    assert.deepEqual(await found("https://api.wave.example"), { host: "api.wave.example", port: "443" });
    assert.deepEqual(await found("https://[2001:db8::1]:8443"), { host: "2001:db8::1", port: "8443" });
  });

  it("is what the API server announces where the agent's way is one of the cluster or the machine", async () => {
    for (const server of [
      "https://10.96.0.1:443",
      "https://[fd00::1]",
      "https://127.0.0.1:6443",
      "https://localhost:6443",
      "https://kubernetes.default.svc",
    ])
      assert.deepEqual(
        await discoverHomeApi(cluster("192.0.2.7"), server),
        { host: "192.0.2.7", port: "6443" },
        server,
      );
  });

  it("is nowhere where both lead only to the machine itself", async () => {
    assert.equal(await discoverHomeApi(cluster("127.0.0.9"), "https://127.0.0.1:6443"), undefined);
    assert.equal(await discoverHomeApi(cluster(), "https://10.96.0.1"), undefined);
  });
});
