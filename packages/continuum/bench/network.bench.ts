// `npm run bench -- network`: packets and changes of links, against WireGuard alone between the same network namespaces, in one run.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type Benchmark, type BenchmarkSession, median } from "@fjord/testbed/bench";
import { NetworkNamespaces } from "@fjord/testbed/namespaces";
import { changingGateway } from "./network/changing-gateway.ts";
import { linkedPods, type Way } from "./network/linked-pods.ts";

const SETTINGS =
  "All of it, both ends of both links and the programs that measure, shares the machine's processors; WireGuard is wireguard-go.";

export const benchmark: Benchmark = {
  name: "network",
  description: "packets from pod to pod over a link, against WireGuard alone; changes among many peers, against few",
  async run(session) {
    await promisify(execFile)("iperf3", ["--version"]).catch((cause: unknown) => {
      throw new Error("this benchmark needs iperf3 (Debian package iperf3)", { cause });
    });
    await packets(session);
    await changes(session);
  },
};

async function packets(session: BenchmarkSession): Promise<void> {
  for (const links of [1, 2, 4]) {
    await using namespaces = new NetworkNamespaces();
    session.progress(`linking two sites by ${links} at a time`);
    const pods = await linkedPods(namespaces, links);
    const side = links === 1 ? "" : `, ${links} links side by side`;
    for (const flows of links === 1 ? [1, 2, 4, 8] : [8])
      for (const way of ["translated", "as it is"] as const satisfies Way[])
        await session.measure({
          name: `throughput, ${flows} ${flows === 1 ? "flow" : "flows"}${side}, ${named(way)}`,
          unit: "Mbit/s",
          subject: () => pods.throughput(way, flows),
          baseline: { name: "WireGuard alone", measure: () => pods.throughput("raw", flows) },
          expected: { of: "ratio", atLeast: 0.95 },
          notShown: `TCP by iperf3 for 3 s. ${SETTINGS}`,
        });
    if (links > 1) continue;
    for (const way of ["translated", "as it is"] as const satisfies Way[])
      await session.measure({
        name: `there and back, ${named(way)}`,
        unit: "µs",
        subject: () => pods.roundTrip(way),
        baseline: { name: "WireGuard alone", measure: () => pods.roundTrip("raw") },
        expected: { of: "ratio", atMost: 1.05 },
        notShown: `Median of 2,000 datagrams, one after the other. ${SETTINGS}`,
      });
  }
}

const named = (way: Way) => (way === "translated" ? "same addresses at both sites" : "different addresses");

async function changes(session: BenchmarkSession): Promise<void> {
  await using namespaces = new NetworkNamespaces();
  const few = await changingGateway(namespaces, 10);
  for (const peers of [100, 1000]) {
    session.progress(`a gateway with ${peers} peers`);
    const many = await changingGateway(namespaces, peers);
    const group = `among ${peers.toLocaleString("en")} peers`;
    const notShown = `Firewall, routes and WireGuard, until all of them have it; median of 10. Each peer has the same ranges and a group of ten by ten pods. ${SETTINGS}`;
    for (const [what, change] of [
      ["one more pod", "pod"],
      ["one more peer", "peer"],
    ] as const)
      await session.measure({
        name: `${what} ${group}`,
        unit: "ms",
        subject: async () => median(await many.times(change, 10)),
        baseline: { name: "among 10 peers", measure: async () => median(await few.times(change, 10)) },
        expected: { of: "ratio", atMost: 1.5 },
        notShown,
      });
    await session.measure({
      name: `rules that a packet may pass ${group}`,
      unit: "rules",
      subject: async () => many.rulesOfPacket(),
      baseline: { name: "with 10", measure: async () => few.rulesOfPacket() },
      expected: { of: "ratio", atMost: 1 },
      notShown: "Of the longer of the two directions; look-ups in hashes are one rule each.",
      runs: 1,
    });
    await session.measure({
      name: `everything anew ${group}`,
      unit: "ms",
      subject: () => many.everything(),
      notShown: `What a gateway does that starts, and after a drift. ${SETTINGS}`,
      runs: 3,
    });
  }
}
