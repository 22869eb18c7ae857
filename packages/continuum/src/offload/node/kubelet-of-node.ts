import { describeError } from "@fjord/base";
import { ApiReviewer, Guard, KubeletServer } from "@fjord/node/kubelet-api";
import type { CertificatePair } from "@fjord/node/registration";
import { RemoteBackend } from "./remote-backend.ts";
import type { VirtualNodeControllerOptions } from "./virtual-node-controller.ts";

export interface KubeletOfNodeOptions
  extends Pick<
    VirtualNodeControllerOptions,
    "home" | "nodes" | "remotes" | "pods" | "summary" | "address" | "clientCa"
  > {
  readonly node: string;
  /** The one that it had before, so that a restart of the agent goes unnoticed; 0 for any. */
  readonly port: number;
  readonly certificate: CertificatePair;
}

export interface KubeletOfNode {
  /** It listens. */
  readonly server: KubeletServer;
  readonly useCertificate: (pair: CertificatePair) => void;
}

/** The kubelet API of a virtual node. */
export async function startKubeletServer(options: KubeletOfNodeOptions): Promise<KubeletOfNode> {
  const { home, node, port, address: host, clientCa, certificate } = options;
  const { client, clock, logger } = home;
  const backend = backendOf(options);
  const guard = new Guard({ reviewer: new ApiReviewer(client), nodeName: node, clock });
  const tlsOf = (pair: CertificatePair) => ({ ...pair, ...(clientCa !== undefined && { clientCa }) });
  const listen = async (on: number) => {
    const server = new KubeletServer({ backend, guard, tls: tlsOf(certificate), host, port: on, log: logger, clock });
    await server.listen();
    return server;
  };
  const server = await listen(port).catch((error: unknown) => {
    if (port === 0) throw error;
    logger.info("a virtual node's port is taken: it gets another", { node, port, error: describeError(error) });
    return listen(0);
  });
  return { server, useCertificate: (pair) => server.setTls(tlsOf(pair)) };
}

function backendOf({ home, node, nodes, remotes, pods, summary }: KubeletOfNodeOptions): RemoteBackend {
  const remote = () => {
    const known = nodes.get(node);
    return known && remotes.get(known.site);
  };
  return new RemoteBackend({
    node,
    pods,
    remote,
    summary: async (signal) => {
      const known = nodes.get(node);
      if (known === undefined) throw new Error(`there is no virtual node ${node}`);
      return summary(known, remote(), signal);
    },
    clock: home.clock,
  });
}
