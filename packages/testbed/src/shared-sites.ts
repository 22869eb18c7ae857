// Sites that all test files of one process use. For tests alone: what is started here ends after the last of them.
import { after } from "node:test";
import { startTestSite, type TestSite, type TestSiteOptions } from "./testing.ts";

export type SharedTestSite = Pick<TestSite, "kubeconfig" | "config" | "site">;

const started = new Map<string, Promise<TestSite>>();

after(async () => {
  // Whoever asked for one that did not start has said so.
  const sites = await Promise.allSettled(started.values());
  await Promise.all(sites.map((site) => site.status === "fulfilled" && site.value.stop()));
});

/**
 * A real Kubernetes API that others have used before and will use afterwards: `npm test` runs all files of a package that ask for one in one process,
 * one after the other. So names are a file's own, and what would disturb others is taken back. What was killed runs again.
 */
export async function sharedTestSite(
  options: Pick<TestSiteOptions, "kubernetes" | "components"> = {},
): Promise<SharedTestSite> {
  const key = JSON.stringify([options.kubernetes, options.components]);
  const starting = started.get(key) ?? startTestSite(options);
  started.set(key, starting);
  const site = await starting;
  await site.site.start({ timeout: 120_000 });
  return site;
}
