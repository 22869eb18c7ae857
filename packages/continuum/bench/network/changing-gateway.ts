import { randomBytes } from "node:crypto";
import { silentLogger, systemClock } from "@fjord/base";
import type { NetworkNamespaces } from "@fjord/testbed/namespaces";
import { wireguardProgram } from "@fjord/testbed/testing";
import { fabricOf } from "../../src/network/fabric/fabric.ts";
import { testPeer, testState } from "../../src/network/fabric/test-state.ts";
import { Gateway } from "../../src/network/gateway/gateway.ts";
import { NodeNetwork } from "../../src/network/gateway/node-network.ts";
import type { NetworkState } from "../../src/network/network-state.ts";

export interface ChangingGateway {
  /** Milliseconds that each of so many changes takes; what came with one goes with the next. */
  times(change: "pod" | "peer", count: number): Promise<number[]>;
  /** Milliseconds to make everything as it shall be, as one that knows nothing does. */
  everything(): Promise<number>;
  rulesOfPacket(): number;
}

/** A gateway in a namespace of its own, with so many peers that never answer. */
export async function changingGateway(namespaces: NetworkNamespaces, peers: number): Promise<ChangingGateway> {
  const name = `peers-${peers}`;
  await namespaces.add(name);
  const interfacePrefix = `z${process.pid.toString(36)}n${peers}n`;
  const gateway = new Gateway({
    network: new NodeNetwork({ prefix: namespaces.prefix(name), wireguardProgram: wireguardProgram() }),
    interfacePrefix,
    clock: systemClock,
    logger: silentLogger,
  });
  const key = randomBytes(32).toString("base64");
  const base = testState(peers);
  const changed = { pod: withPod(base), peer: { ...base, peers: [...base.peers, testPeer(1999)] } };
  const timed = async (state: NetworkState) => {
    const start = performance.now();
    await gateway.apply(state, key);
    return performance.now() - start;
  };
  await gateway.apply(base, key);
  return {
    async times(change, count) {
      const all: number[] = [];
      for (let i = 0; i < count / 2; i++) all.push(await timed(changed[change]), await timed(base));
      return all;
    },
    everything() {
      gateway.forget();
      return timed(base);
    },
    rulesOfPacket() {
      const { table } = fabricOf(base, { interfacePrefix });
      const length = (chain: string) => table.chains.get(chain)?.rules.length ?? 0;
      return Math.max(length("arrive4"), length("leave4") + length("rename4")) + 1;
    },
  };
}

function withPod(state: NetworkState): NetworkState {
  const [first, ...others] = state.peers;
  if (first === undefined) return state;
  const groups = first.groups.map((group) => ({ ...group, local: [...group.local, "10.42.9.9"] }));
  return { ...state, peers: [{ ...first, groups }, ...others] };
}
