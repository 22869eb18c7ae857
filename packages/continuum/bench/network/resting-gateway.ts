import { randomBytes } from "node:crypto";
import { silentLogger, systemClock } from "@fjord/base";
import type { NetworkNamespaces } from "@fjord/testbed/namespaces";
import { wireguardProgram } from "@fjord/testbed/testing";
import { testState } from "../../src/network/fabric/test-state.ts";
import { Gateway } from "../../src/network/gateway/gateway.ts";
import { GatewayLoop } from "../../src/network/gateway/gateway-loop.ts";
import { LinkProbe, type OpenProbeSocket } from "../../src/network/gateway/link-probe.ts";
import { NodeNetwork } from "../../src/network/gateway/node-network.ts";
import { linkAddress } from "../../src/network/link-address.ts";

export interface Rest {
  /** Of one processor. */
  readonly processorPercent: number;
  /** That it sends of itself in a second. */
  readonly packets: number;
}

export interface RestingGateway {
  /** `shared`: whether peers leave questions to whoever asks first. @default true */
  rest(ms: number, peers?: { readonly shared?: boolean }): Promise<Rest>;
}

/** A gateway in a namespace of its own, with so many peers that answer what it asks, and nothing else to do. */
export async function restingGateway(namespaces: NetworkNamespaces, peers: number): Promise<RestingGateway> {
  const name = `rest-${peers}`;
  await namespaces.add(name);
  const means = { clock: systemClock, logger: silentLogger };
  const gateway = new Gateway({
    ...means,
    network: new NodeNetwork({ prefix: namespaces.prefix(name), wireguardProgram: wireguardProgram() }),
    interfacePrefix: `z${process.pid.toString(36)}r${peers}r`,
  });
  const asked = testState(peers, (peer) => ({ ...peer, link: { ...peer.link, tcp: "127.0.0.1:20000" } }));
  const state = { ...asked, siteId: "own" };
  const privateKey = randomBytes(32).toString("base64");
  return {
    async rest(ms, { shared = true } = {}) {
      const stop = new AbortController();
      const wire = new PlayedPeers(
        state.peers.map(({ siteId }) => siteId),
        shared,
      );
      const loop = new GatewayLoop({
        ...means,
        gateway,
        source: { read: async () => ({ carries: { state, privateKey } }) },
        probe: (lane) => new LinkProbe({ ...means, lane, open: wire.open }),
      });
      const running = loop.run(stop.signal);
      // Until all have been asked, and how large packets may be is known.
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      const [before, sent] = [process.cpuUsage(), wire.sent];
      await new Promise((resolve) => setTimeout(resolve, ms));
      const { user, system } = process.cpuUsage(before);
      const packets = (1000 * (wire.sent - sent)) / ms;
      stop.abort();
      await running;
      wire.end();
      return { processorPercent: (user + system) / 10 / ms, packets };
    },
  };
}

/** Peers at the other end of a socket. Those that do not share ask every second themselves, as earlier versions do. */
class PlayedPeers {
  sent = 0;
  #heard: (bytes: Buffer, from: string) => void = () => {};
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(siteIds: readonly string[], shared: boolean) {
    if (shared) return;
    const question = Buffer.alloc(16);
    question.set([0x66, 0x6a, 1, 0]);
    const addresses = siteIds.map((siteId) => linkAddress(siteId));
    this.#timer = setInterval(() => {
      for (const address of addresses) this.#heard(question, address);
    }, 1_000);
  }

  readonly open: OpenProbeSocket = async (_, heard) => {
    this.#heard = heard;
    return {
      send: (bytes, to) => {
        this.sent++;
        if (bytes.readUInt8(2) !== 1) return;
        const answer = Buffer.from(bytes);
        answer.writeUInt8(2, 2);
        setImmediate(() => heard(answer, to));
      },
      close: () => {},
    };
  };

  end(): void {
    clearInterval(this.#timer);
  }
}
