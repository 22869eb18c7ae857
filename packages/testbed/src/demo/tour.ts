import { styleText } from "node:util";
import { ShadowPod, Site } from "@fjord/api";
import type { Clock } from "@fjord/base";
import { Node } from "@fjord/kube";
import { NAMESPACE } from "./application.ts";
import { type Demo, REPLICAS } from "./demo.ts";
import { BUSY, CLOUD, EDGES, LOST } from "./demo-plan.ts";
import { describeSpread, isEven, type Spread, siteOfNode, total } from "./pod-spread.ts";
import { CALM_REPLICAS, RUSH, RUSH_APP } from "./rush.ts";
import { askShop } from "./shop-answer.ts";
import type { Steps } from "./steps.ts";

export interface TourOptions {
  readonly steps: Steps;
  readonly clock: Clock;
}

/** More than each of them has room for. */
const RUSH_REPLICAS: Readonly<Record<string, number>> = { [BUSY]: 8, [CLOUD]: 10 };
/** Two for each edge, once all are back. */
const MORE_REPLICAS = 8;
const ASKED_TIMES = 24;
const RUSHING = `${RUSH}/${RUSH_APP}`;

/** Plays what a demo is there to show, and checks each scene: throws at the first that is not so. */
export async function playTour(demo: Demo, { steps, clock }: TourOptions): Promise<void> {
  const others = EDGES.filter((edge) => edge !== LOST);
  const scene = async (title: string, play: () => Promise<string>) => {
    await steps.step(title, async () => {
      const began = clock.now();
      const seen = await play();
      steps.say(`  ${styleText("dim", `after ${((clock.now() - began) / 1000).toFixed(1)} s:`)} ${seen}`);
    });
  };

  steps.say(`\n${styleText("bold", "The tour")}`);
  await scene(`${LOST} is cut off, and shown so`, async () => {
    await demo.show(["demo", "cut", LOST]);
    const began = clock.now();
    await demo.until(`${LOST} to be shown unreachable`, async () => !(await isReady(demo, LOST)));
    const seconds = (clock.now() - began) / 1000;
    await demo.show(["fjord", "sites"]);
    return `${LOST} was unreachable ${seconds.toFixed(1)} s after it was cut off`;
  });
  await scene(`its work goes to the others: ${REPLICAS} replicas, two each`, async () => {
    const spread = await settled(demo, CLOUD, NAMESPACE, "front", (each) => isEven(each, others), REPLICAS);
    return `${describeSpread(spread)}; ${await answers(demo, others)}`;
  });
  await scene(`a rush at ${BUSY} is more than it can do: the cloud does the rest`, async () => {
    return describeSpread(await burst(demo, BUSY, [CLOUD]));
  });
  await scene("the rush is over, and what went to the cloud comes back", async () => {
    await calm(demo, BUSY);
    // Which pods a controller takes away is its own choice: those in the cloud may be the ones that stay.
    await demo.show(["fjord", "drain", CLOUD, "--context", BUSY]);
    const atHome = (each: Spread) => each[BUSY] === CALM_REPLICAS;
    const spread = await settled(demo, BUSY, RUSH, RUSH_APP, atHome, CALM_REPLICAS);
    await demo.show(["fjord", "uncordon", CLOUD, "--context", BUSY]);
    return describeSpread(spread);
  });
  await scene(`a rush in ${CLOUD} is more than it can do: the edges do the rest`, async () => {
    const full = await burst(demo, CLOUD, others);
    await calm(demo, CLOUD);
    return describeSpread(full);
  });
  await scene(`${LOST} is back, nothing old is left there, and it takes its share of what comes`, async () => {
    await demo.show(["demo", "heal", LOST]);
    await demo.until(`${LOST} to be shown reachable`, () => isReady(demo, LOST));
    await demo.until(`what ${LOST} ran before to end there`, () => hasNoGuests(demo, LOST));
    await demo.until(`${LOST} to take pods`, () => takesPods(demo, LOST));
    await demo.show(demo.words.scale(`${NAMESPACE}/front`, MORE_REPLICAS));
    const spread = await settled(demo, CLOUD, NAMESPACE, "front", (each) => isEven(each, EDGES), MORE_REPLICAS);
    await demo.show(["fjord", "sites"]);
    return `${describeSpread(spread)}; ${await answers(demo, EDGES)}`;
  });
}

async function isReady(demo: Demo, name: string): Promise<boolean> {
  const { status } = await (await demo.client(CLOUD)).get(Site, { name });
  return status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true;
}

/** Waits for so many Ready pods that are spread as wanted. */
async function settled(
  demo: Demo,
  home: string,
  namespace: string,
  app: string,
  isWanted: (spread: Spread) => boolean,
  replicas: number,
): Promise<Spread> {
  let spread: Spread = {};
  const isSettled = async () => {
    spread = await demo.spread(home, namespace, app);
    return total(spread) === replicas && isWanted(spread);
  };
  await demo.until(`${replicas} pods of ${app} where they belong`, isSettled, () => describeSpread(spread));
  return spread;
}

/** More work than the site has room for; the rest is done by some of the others. */
async function burst(demo: Demo, home: string, others: readonly string[]): Promise<Spread> {
  const replicas = RUSH_REPLICAS[home] ?? 0;
  await demo.show(demo.words.scale(RUSHING, replicas, home));
  const isShared = (spread: Spread) => {
    const elsewhere = others.reduce((sum, name) => sum + (spread[name] ?? 0), 0);
    return elsewhere > 0 && elsewhere + (spread[home] ?? 0) === replicas;
  };
  return await settled(demo, home, RUSH, RUSH_APP, isShared, replicas);
}

/** Less work again. */
async function calm(demo: Demo, home: string): Promise<void> {
  await demo.show(demo.words.scale(RUSHING, CALM_REPLICAS, home));
  // Those that are ending still take room, and whoever comes now would have to go elsewhere.
  const isCalm = async () => (await demo.pods(home, RUSH, RUSH_APP)).length === CALM_REPLICAS;
  await demo.until(`${CALM_REPLICAS} pods to be left`, isCalm);
}

/** Whether the scheduler counts on the node again. */
async function takesPods(demo: Demo, name: string): Promise<boolean> {
  const { spec } = await (await demo.client(CLOUD)).get(Node, { name });
  return !(spec?.taints ?? []).some(({ key }) => key.startsWith("node.kubernetes.io/"));
}

async function hasNoGuests(demo: Demo, name: string): Promise<boolean> {
  const { items } = await (await demo.client(name)).list(ShadowPod, {});
  return items.length === 0;
}

/** Asks the front end again and again: every answer is right, and each of the sites gives some. */
async function answers(demo: Demo, sites: readonly string[]): Promise<string> {
  const by: Record<string, number> = {};
  const isAnswered = async () => {
    for (const name of Object.keys(by)) delete by[name];
    for (let time = 0; time < ASKED_TIMES; time++) {
      const { status, page } = await askShop(demo.url);
      if (status !== 200) return false;
      const site = siteOfNode(page.node);
      by[site] = (by[site] ?? 0) + 1;
    }
    return Object.keys(by).length === sites.length && sites.every((site) => site in by);
  };
  await demo.until(`the front end to answer from ${sites.join(", ")}`, isAnswered, () => describeSpread(by));
  return `the front end answers from ${Object.keys(by).sort().join(", ")}`;
}
