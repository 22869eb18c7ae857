// `npm run bench -- network`: packets and changes of links, against WireGuard alone between the same network namespaces, in one run.
// FJORD_BENCH_PARTS=link,links,changes,rest chooses parts.
import { type Benchmark, type BenchmarkSession, type Bound, median } from "@fjord/testbed/bench";
import { NetworkNamespaces } from "@fjord/testbed/namespaces";
import { changingGateway } from "./network/changing-gateway.ts";
import { type LinkedPods, linkedPods, type RoundTrips, type Way } from "./network/linked-pods.ts";
import { restingGateway } from "./network/resting-gateway.ts";
import { inTurn, together } from "./network/rounds.ts";

const SETTINGS =
  "All of it, both ends of both links and the programs that measure, shares the machine's processors, of which each site has a half, and no wire is as slow as real ones; WireGuard is wireguard-go.";
const WAYS = ["translated", "as it is", "raw"] as const satisfies Way[];
const LINKED = ["translated", "as it is"] as const satisfies Way[];
const ALONE = "WireGuard alone";
const PIECES = "each run the median of three times a second, in turn with the others";
const NO_LESS: Bound = { of: "ratio", atLeast: 0.95 };
const NO_LONGER: Bound = { of: "ratio", atMost: 1.05 };

export const benchmark: Benchmark = {
  name: "network",
  description: "packets from pod to pod over a link, against WireGuard alone; changes among many peers, against few",
  programs: ["network"],
  async run(session) {
    const asked = process.env.FJORD_BENCH_PARTS?.split(",") ?? Object.keys(PARTS);
    const unknown = asked.filter((part) => !Object.hasOwn(PARTS, part));
    if (unknown.length > 0) throw new Error(`no parts of this benchmark: ${unknown.join(", ")}`);
    for (const [name, part] of Object.entries(PARTS)) if (asked.includes(name)) await part(session);
  },
};

const PARTS: Readonly<Record<string, (session: BenchmarkSession) => Promise<void>>> = {
  link: oneLink,
  links: severalLinks,
  changes,
  rest: atRest,
};

async function atRest(session: BenchmarkSession): Promise<void> {
  await using namespaces = new NetworkNamespaces();
  session.progress("a gateway with 1,000 peers that answer, and one with 10");
  const [many, few] = [await restingGateway(namespaces, 1000), await restingGateway(namespaces, 10)];
  const notShown =
    "The gateway's program, for ten seconds: its loop, what it asks and answers, and what it reads of wireguard-go; peers are played in the same process, at no cost of a socket. Something is shared with each of them.";
  const rounds = { many: () => many.rest(10_000), few: () => few.rest(10_000) };
  await session.measure({
    name: "processor at rest, with 1,000 peers",
    unit: "%",
    subject: async () => (await rounds.many()).processorPercent,
    baseline: { name: "with 10", measure: async () => (await rounds.few()).processorPercent },
    notShown: `Of one processor. ${notShown}`,
  });
  await session.measure({
    name: "packets of probes at rest, with 1,000 peers",
    unit: "/s",
    subject: async () => (await many.rest(10_000)).packets,
    baseline: {
      name: "where both ask",
      measure: async () => (await many.rest(10_000, { shared: false })).packets,
    },
    expected: { of: "ratio", atMost: 0.65 },
    notShown: `Questions and answers that it sends; those that come are as many. The baseline's peers are of an earlier version, which ask whatever they are asked. ${notShown}`,
  });
}

async function oneLink(session: BenchmarkSession): Promise<void> {
  await using namespaces = new NetworkNamespaces();
  session.progress("linking two sites");
  const pods = await linkedPods(namespaces, { links: 1 });
  for (const flows of [1, 2, 4, 8]) await throughput(session, pods, flows, "");
  const small = inTurn(WAYS, (way) => pods.datagrams(way));
  for (const way of LINKED)
    await session.measure({
      name: `datagrams of 64 bytes, ${named(way)}`,
      unit: "thousand/s",
      subject: small.reader(way, "thousands"),
      baseline: { name: ALONE, measure: small.reader("raw", "thousands") },
      expected: NO_LESS,
      notShown: `Those that arrive, by iperf3 with one sender, ${PIECES}; each is looked up by itself, while TCP's go in large pieces. ${SETTINGS}`,
    });
  for (const way of LINKED) {
    const times = together(() => pods.roundTrips(way, "raw"));
    await session.measure({
      name: `there and back, ${named(way)}`,
      unit: "µs",
      subject: times.reader(way, "median"),
      baseline: { name: ALONE, measure: times.reader("raw", "median") },
      expected: NO_LONGER,
      notShown: `Median of 2,000 datagrams, one after the other, each second one by WireGuard alone. ${SETTINGS}`,
    });
  }
  await crowd(session, pods);
}

/** The same packets where the gateways have a thousand peers with ten thousand pods, which say nothing: against few peers, and against WireGuard alone with as many. */
async function crowd(session: BenchmarkSession, few: LinkedPods): Promise<void> {
  await using namespaces = new NetworkNamespaces();
  session.progress("linking two sites that have 1,000 other peers each");
  const many = await linkedPods(namespaces, { links: 1, strangers: 1000 });
  const places = {
    many: { pods: many, way: "translated" },
    few: { pods: few, way: "translated" },
    alone: { pods: many, way: "raw" },
  } as const;
  const keys = ["many", "few", "alone"] as const;
  type Reader = (place: (typeof keys)[number]) => () => Promise<number>;
  const compare = async (name: string, unit: string, expected: Bound, read: Reader, readAlone = read) => {
    const notShown = `Same addresses at both sites. The others have groups of ten by ten pods, send nothing and are sent nothing. ${SETTINGS}`;
    await session.measure({
      name: `${name}, among 1,000 peers`,
      unit,
      subject: read("many"),
      baseline: { name: "with one peer", measure: read("few") },
      expected,
      notShown,
    });
    await session.measure({
      name: `${name}, among 1,000 peers, beside the same of WireGuard alone`,
      unit,
      subject: readAlone("many"),
      baseline: { name: `${ALONE}, as many peers`, measure: readAlone("alone") },
      expected,
      notShown,
    });
  };
  const streams = inTurn(keys, (place) => places[place].pods.throughput(places[place].way, 1));
  await compare("throughput, 1 flow", "Mbit/s", NO_LESS, (place) => streams.reader(place, "megabits"));
  const small = inTurn(keys, (place) => places[place].pods.datagrams(places[place].way));
  await compare("datagrams of 64 bytes", "thousand/s", NO_LESS, (place) => small.reader(place, "thousands"));
  const times = inTurn(keys, async (place) => {
    const { pods, way } = places[place];
    return (await pods.roundTrips(way)).get(way) as RoundTrips;
  });
  // Between the same two pods, and so one by one.
  const beside = together(async () => {
    const taken = await many.roundTrips("translated", "raw");
    return new Map<string, RoundTrips>([
      ["many", taken.get("translated") as RoundTrips],
      ["alone", taken.get("raw") as RoundTrips],
    ]);
  });
  await compare(
    "there and back",
    "µs",
    NO_LONGER,
    (place) => times.reader(place, "median"),
    (place) => beside.reader(place, "median"),
  );
}

async function severalLinks(session: BenchmarkSession): Promise<void> {
  for (const links of [2, 4]) {
    await using namespaces = new NetworkNamespaces();
    session.progress(`linking two sites by ${links} at a time`);
    const pods = await linkedPods(namespaces, { links });
    for (const flows of [1, 8]) await throughput(session, pods, flows, `, ${links} links side by side`);
  }
}

async function throughput(session: BenchmarkSession, pods: LinkedPods, flows: number, side: string): Promise<void> {
  const rounds = inTurn(WAYS, (way) => pods.throughput(way, flows));
  const title = `${flows} ${flows === 1 ? "flow" : "flows"}${side}`;
  for (const way of LINKED)
    await session.measure({
      name: `throughput, ${title}, ${named(way)}`,
      unit: "Mbit/s",
      subject: rounds.reader(way, "megabits"),
      baseline: { name: ALONE, measure: rounds.reader("raw", "megabits") },
      expected: NO_LESS,
      notShown: `TCP by iperf3, ${PIECES}. ${SETTINGS}`,
    });
  if (side !== "" || flows > 1) return;
  for (const way of LINKED)
    await session.measure({
      name: `processor time for a gigabyte, ${title}, ${named(way)}`,
      unit: "s",
      subject: rounds.reader(way, "cost"),
      baseline: { name: ALONE, measure: rounds.reader("raw", "cost") },
      notShown:
        "Of the same runs: both ends' WireGuard and iperf3, and what the kernel does in their name; not what it does in nobody's.",
    });
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
