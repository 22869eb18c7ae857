import { createPrivateKey } from "node:crypto";
import type { Duplex } from "node:stream";
import { CONSUMER_LABEL } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { type KubeClient, Node, Pod } from "@fjord/kube";
import { type KubeletBackend, KubeletServer } from "@fjord/node/kubelet-api";
import { generateKey, selfSignedCertificate } from "@fjord/node/registration";

export interface TestKubelet {
  stop(): Promise<void>;
}

/** A node whose one pod, `web`, answers logs, exec and port-forward. */
export async function startTestKubelet(client: KubeClient, namespace: string): Promise<TestKubelet> {
  const labels = { [CONSUMER_LABEL]: namespace.slice("shop-".length) };
  const containers = [{ name: "main", image: "registry.example/web:1" }];
  const pod = await client.create(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace, labels },
    spec: { nodeName: "test-node", automountServiceAccountToken: false, containers },
  });
  const key = await generateKey();
  const validity = { from: Date.now() - 3_600_000, to: Date.now() + 3_600_000 };
  const cert = selfSignedCertificate(createPrivateKey(key), { commonName: "test-node" }, ["127.0.0.1"], validity);
  const server = new KubeletServer({
    backend: backendOf(pod),
    guard: { admit: async () => ({ name: "test", groups: [] }) } as never,
    tls: { cert, key },
    host: "127.0.0.1",
    port: 0,
    log: silentLogger,
  });
  await server.listen();
  const stop = new AbortController();
  const run = server.run(stop.signal);
  await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: "test-node" } });
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: server.address.port } },
  };
  await client.patch(Node, { name: "test-node" }, "merge", { status }, { subresource: "status" });
  return {
    async stop() {
      stop.abort();
      await run;
    },
  };
}

function backendOf(pod: Pod): KubeletBackend {
  return {
    pods: () => [pod],
    logs: async () =>
      (async function* () {
        yield Buffer.from("a line of web\n");
      })(),
    async exec(_address, command, { stdout }) {
      await new Promise<void>((resolve) => stdout?.end(`${command.join(" ")}\n`, () => resolve()));
      return 3;
    },
    async attach() {},
    async portForward(_pod, port, stream: Duplex) {
      for await (const chunk of stream) stream.write(`${chunk} to ${port}`);
    },
    summary: async () => ({}) as never,
    healthy() {},
  };
}
