import { type AddressPlan, OFFLOADING_NAME, Offloading, Site, VIRTUAL_NODE } from "@fjord/api";
import { sleep } from "@fjord/base";
import { isAlreadyExists, isForbidden, type KubeClient, NetworkPolicy, Node, Pod, Service } from "@fjord/kube";
import type { CommandContext } from "../../command-line/command-context.ts";
import { listOrExplain } from "../../command-line/list-or-explain.ts";
import { waitFor } from "../../command-line/wait-for.ts";
import { NoTestPods } from "../../errors.ts";
import { twinsReady } from "../../place/twins-ready.ts";
import type { SiteNetwork } from "../site-network.ts";
import type { Asker } from "../trials/trials.ts";
import { podStanding } from "./pod-standing.ts";
import { progressOf, type Standings, whyMissing } from "./pods-progress.ts";
import { TestClaim } from "./trial-claim.ts";
import {
  OUTSIDE_NAMESPACE,
  TEST_LABEL,
  TEST_NAMESPACE,
  TEST_NAMESPACES,
  testOffloading,
  testPod,
  testPolicy,
  testService,
} from "./trial-objects.ts";
import { type TestPlace, testPlaces } from "./trial-places.ts";

/** Pods that were brought for a test, by site. */
export interface OwnPods {
  /** One that may ask, and is asked. */
  at(site: string): Asker | undefined;
  /** One that shares nothing with those. */
  outsiderAt(site: string): Asker | undefined;
  /** Why there is none at a site. */
  lackAt(site: string): string | undefined;
  /** Whether some that were to come have not. */
  readonly areMissing: boolean;
}

export interface OwnPodsOptions {
  readonly client: KubeClient;
  readonly network: SiteNetwork;
  readonly plans: readonly AddressPlan[];
  readonly image: string;
  readonly timeoutMs: number;
}

const LOOK_AGAIN_MS = 500;

/** Brings pods to each site, has them used, and takes them away again, whatever becomes of it. */
export async function withOwnPods<T>(
  options: OwnPodsOptions,
  context: CommandContext,
  use: (pods: OwnPods) => Promise<T>,
): Promise<T> {
  const { client, network, plans } = options;
  const { signal, note } = context;
  const own = await client.list(Node, { labelSelector: `!${VIRTUAL_NODE}`, limit: 1, signal });
  const { places, lacks } = testPlaces(network, plans, own.items.length > 0);
  if (places.length < 2) throw new NoTestPods({ reason: [...lacks.values()].join("; ") || "there is no other site" });
  const sites = places.map(({ site }) => site).join(", ");
  note(`pods are brought to ${sites} for the test, in namespaces ${TEST_NAMESPACES.join(" and ")}\n`);
  await using _claim = await TestClaim.make(client, context);
  await deploy(places, options, context);
  const standings = await waitForPods(places, options, context);
  const missing = new Map(
    places.flatMap((place) => {
      const why = whyMissing(place, standings);
      return why === undefined ? [] : [[place.id, why]];
    }),
  );
  if (places.length - missing.size < 2) throw new NoTestPods({ reason: [...missing.values()].join("; ") });
  const asker = (site: string, namespace: string): Asker | undefined => {
    const place = places.find(({ id }) => id === site);
    return place === undefined || missing.has(site) ? undefined : { namespace, pod: place.name };
  };
  return await use({
    at: (site) => asker(site, TEST_NAMESPACE),
    outsiderAt: (site) => asker(site, OUTSIDE_NAMESPACE),
    lackAt: (site) => missing.get(site) ?? lacks.get(site),
    areMissing: missing.size > 0,
  });
}

/** Services first: pods that are told no names have their addresses as variables, from their start on. */
async function deploy(
  places: readonly TestPlace[],
  { client, image, timeoutMs }: OwnPodsOptions,
  context: CommandContext,
): Promise<void> {
  const { signal } = context;
  const writing = { fieldManager: "fjord-cli", signal };
  await Promise.all(
    TEST_NAMESPACES.map((namespace) =>
      // A rule may have offloaded it already: that will do.
      client.create(Offloading, testOffloading(namespace, places), writing).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      }),
    ),
  );
  await client.create(NetworkPolicy, testPolicy(), writing);
  await Promise.all(places.map((place) => client.create(Service, testService(place), writing)));
  await Promise.all(TEST_NAMESPACES.map((namespace) => twinsMade(client, namespace, timeoutMs, context)));
  for (const namespace of TEST_NAMESPACES)
    await Promise.all(places.map((place) => createPod(client, testPod(namespace, place, image), context)));
}

/** Sites that do not answer are told of by the pods that they do not get. */
async function twinsMade(client: KubeClient, namespace: string, timeoutMs: number, context: CommandContext) {
  const key = { name: OFFLOADING_NAME, namespace };
  await waitFor(
    client,
    Offloading,
    key,
    async (found, signal) => {
      if (found === undefined) return { done: false, progress: "its Offloading is gone", refused: true };
      const { done, progress } = twinsReady(found, { sites: await listOrExplain(client, Site, signal) });
      return done ? { done } : { done, progress };
    },
    {
      signal: context.signal,
      timeoutMs,
      what: `namespace ${namespace} had no twin`,
      refusal: (reason) => new NoTestPods({ reason }),
      late: (seconds, last) =>
        new NoTestPods({ reason: `namespace ${namespace} had no twin within ${seconds} s: ${last}` }),
    },
  );
}

const SERVICE_ACCOUNT_MS = 10_000;

/** A namespace that was just made has no service account for a moment, and an API server takes no pod without one. */
async function createPod(client: KubeClient, pod: Pod, { signal, clock }: CommandContext): Promise<void> {
  const until = clock.now() + SERVICE_ACCOUNT_MS;
  for (;;) {
    try {
      await client.create(Pod, pod, { fieldManager: "fjord-cli", signal });
      return;
    } catch (error) {
      if (!isForbidden(error) || !/serviceaccount/i.test(String(error)) || clock.now() > until) throw error;
      await sleep(clock, LOOK_AGAIN_MS, signal);
    }
  }
}

/** Until all are ready, or hopeless, or time is over. */
async function waitForPods(
  places: readonly TestPlace[],
  { client, timeoutMs }: OwnPodsOptions,
  { signal, clock, note }: CommandContext,
): Promise<Standings> {
  const until = clock.now() + timeoutMs;
  let told = "";
  for (;;) {
    const standings = await standingsOf(places, client, signal);
    const left = [...standings.values()].filter((each) => !each.isReady);
    if (left.every((each) => !each.isReady && each.isHopeless) || clock.now() >= until) return standings;
    const progress = progressOf(places, standings);
    if (progress !== told) note(`${progress}\n`);
    told = progress;
    await sleep(clock, LOOK_AGAIN_MS, signal);
    signal.throwIfAborted();
  }
}

async function standingsOf(places: readonly TestPlace[], client: KubeClient, signal: AbortSignal): Promise<Standings> {
  const options = { labelSelector: `${TEST_LABEL}=true`, signal, omitManagedFields: true };
  const lists = await Promise.all(
    TEST_NAMESPACES.map(async (namespace) => (await client.list(Pod, { ...options, namespace })).items),
  );
  return new Map(
    TEST_NAMESPACES.flatMap((namespace, index) =>
      places.map(({ name }) => {
        const pod = lists[index]?.find(({ metadata }) => metadata.name === name);
        return [`${namespace}/${name}`, podStanding(pod)] as const;
      }),
    ),
  );
}
