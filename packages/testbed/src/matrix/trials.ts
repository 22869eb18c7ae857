import { describeError } from "@fjord/base";
import { eventually } from "../acceptance/acceptance-bed.ts";
import { CLOSED_PORT, type MatrixBed, PORT } from "./matrix-bed.ts";
import { type Cell, type Ranges, type Topology, type Traffic, traffics } from "./matrix-cell.ts";
import { judge, shopPages } from "./shop.ts";
import { wantedWays } from "./way.ts";

/** One request: who asks, whom, and who has to answer; nobody, where it has to be refused. */
interface Trial {
  readonly from: string;
  readonly to: string;
  readonly port?: number;
  readonly namespace?: string;
  readonly answer?: string;
}

/** How long any way may take to be found, and then the best one. */
const PATIENCE_MS = 75_000;
const BEST_WAY_MS = 90_000;
const ANSWER_MS = 30_000;

/** What of a traffic has to be answered, and what refused. */
async function trialsOf(bed: MatrixBed, traffic: Exclude<Traffic, "shop">): Promise<Trial[]> {
  switch (traffic) {
    case "pod to pod": {
      const [data = [], din = [], noise = []] = await Promise.all(
        ["data", "din", "noise"].map((name) => bed.addressesOf(name)),
      );
      const away = (addresses: readonly string[]) => Promise.all(addresses.map((address) => bed.calledAway(address)));
      const [web, noiseAway] = [await away(await bed.addressesOf("web")), await away(noise)];
      return [
        // Those that are refused below are so by a policy, or a group, alone.
        ...din.map((to): Trial => ({ from: "noise", to, answer: "din" })),
        ...noiseAway.map((to): Trial => ({ from: "din", to, answer: "noise" })),
        ...noise.map((to): Trial => ({ from: "stranger", to, namespace: "other", answer: "noise" })),
        ...data.flatMap((to): Trial[] => [
          { from: "web", to, answer: "data" },
          { from: "noise", to },
          { from: "stranger", to, namespace: "other" },
        ]),
        ...web.flatMap((to): Trial[] => [
          { from: "data", to, answer: "web" },
          { from: "din", to },
        ]),
      ];
    }
    case "pod to Service":
      return [
        { from: "web", to: "data", answer: "data" },
        { from: "data", to: "web", answer: "web" },
        { from: "noise", to: "data" },
        { from: "din", to: "web" },
        { from: "stranger", to: "data.shop", namespace: "other" },
      ];
    case "headless": {
      const wanted = (await bed.addressesOf("data")).sort().join();
      const found = (await bed.resolve("web", "data-each")).join();
      if (found !== wanted) throw new Error(`data-each has ${found} for web, not ${wanted}`);
      return [
        { from: "web", to: "data-each", answer: "data" },
        { from: "data", to: "web-each", answer: "web" },
        { from: "noise", to: "data-each" },
        { from: "din", to: "web-each" },
      ];
    }
    case "external host": {
      const addresses = await bed.importedAddresses();
      return [
        { from: "web", to: "host", answer: "host" },
        { from: "mute", to: "host" },
        { from: "web", to: "host", port: CLOSED_PORT },
        ...addresses.map((to): Trial => ({ from: "stranger", to, namespace: "other" })),
      ];
    }
  }
}

/** All cells of one topology. A way that is not found is found out once, not for each of them. */
export async function tryTopology(bed: MatrixBed, ranges: Ranges, topology: Topology): Promise<Cell[]> {
  const place = { ranges, families: bed.families, topology };
  const failed = (traffic: Traffic, error: unknown): Cell => ({
    ...place,
    traffic,
    passed: false,
    reason: describeError(error).split("\n")[0]?.slice(0, 300) ?? "",
    answered: 0,
    refused: 0,
  });
  const way = wantedWays[topology];
  const isMet = async () => {
    const met = await bed.way();
    if (met !== way) throw new Error(`the gateways met ${met}, and not ${way}`);
    return true as const;
  };
  try {
    await bed.arrange(topology);
    const [to = ""] = await bed.addressesOf("data");
    await eventually("data answers web", async () => (await bed.ask("web", to)) === "data", PATIENCE_MS);
    await eventually("the best way is found", isMet, BEST_WAY_MS);
  } catch (error) {
    return traffics.map((traffic) => failed(traffic, error));
  }
  const cells: Cell[] = [];
  for (const traffic of traffics) {
    try {
      const counts = await (traffic === "shop" ? tryShop(bed) : tryTraffic(bed, traffic));
      await isMet();
      cells.push({ ...place, traffic, passed: true, way, ...counts });
    } catch (error) {
      cells.push(failed(traffic, error));
    }
  }
  return cells;
}

type Counts = Pick<Cell, "answered" | "refused">;

async function tryTraffic(bed: MatrixBed, traffic: Exclude<Traffic, "shop">): Promise<Counts> {
  const trials = await trialsOf(bed, traffic);
  const asked = trials.filter(({ answer }) => answer !== undefined);
  await Promise.all(asked.map((trial) => answered(bed, trial)));
  const others = trials.filter(({ answer }) => answer === undefined);
  await Promise.all(others.map((trial) => refused(bed, trial)));
  return { answered: asked.length, refused: others.length };
}

async function tryShop(bed: MatrixBed): Promise<Counts> {
  const pages = Object.entries(shopPages(bed));
  for (const [asker, ask] of pages)
    await eventually(`the shop answers ${asker}`, async () => judge(await ask()), ANSWER_MS);
  await refused(bed, { from: "stranger", to: "front.shop", namespace: "other" });
  return { answered: pages.length, refused: 1 };
}

async function answered(bed: MatrixBed, { from, to, port = PORT, namespace, answer }: Trial): Promise<void> {
  await eventually(
    `${answer} answers ${from} at ${to}`,
    async () => {
      const found = await bed.ask(from, to, port, namespace);
      if (found !== answer) throw new Error(`${found} answered`);
      return true;
    },
    ANSWER_MS,
  );
}

async function refused(bed: MatrixBed, { from, to, port = PORT, namespace }: Trial): Promise<void> {
  const found = await bed.ask(from, to, port, namespace).catch(refusal);
  if (found !== undefined) throw new Error(`${from} reached ${found} at ${to}:${port}, which has to be refused`);
}

/** Only what the command in the pod says counts: that the pod was not reached says nothing. */
function refusal(error: unknown): undefined {
  if (!/exit code|timed out|refused|unreachable|download/i.test(describeError(error))) throw error;
  return undefined;
}
