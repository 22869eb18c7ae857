import { createHash } from "node:crypto";
import { open, rename } from "node:fs/promises";
import { basename, join } from "node:path";
import { describeError } from "@fjord/base";
import { runCommand } from "./command.ts";
import { ChecksumMismatch, DownloadFailed } from "./errors.ts";
import { which } from "./find.ts";
import type { Circumstances } from "./go-build.ts";
import type { Component, Download, Recipe } from "./recipes.ts";

/** The sites that releases come from; a mirror has the same paths under another address. */
export type ReleaseSites = Readonly<Record<Download["site"], string>>;

export const RELEASE_SITES: ReleaseSites = { kubernetes: "https://dl.k8s.io", github: "https://github.com" };

const STALL_MS = 60_000;
const REPORT_EVERY_MS = 5_000;

/** Downloads components of a recipe into `workshop`, each verified against the checksum that its project publishes. */
export async function downloadRelease(
  recipe: Recipe,
  components: readonly Component[],
  workshop: string,
  sites: ReleaseSites,
  circumstances: Circumstances,
): Promise<void> {
  if (recipe.download === undefined) {
    throw new DownloadFailed({
      url: recipe.name,
      reason: "its project publishes no checksums to verify a download with",
    });
  }
  for (const component of components) {
    const download = recipe.download(component, circumstances.platform);
    await fetchOne(component, download, workshop, sites[download.site], circumstances);
  }
}

async function fetchOne(
  component: Component,
  { path, checksum, member }: Download,
  workshop: string,
  site: string,
  circumstances: Circumstances,
): Promise<void> {
  const url = site + path;
  const file = join(workshop, member === undefined ? component.name : basename(path));
  // The checksum goes first: a site that is out of reach then costs no time and no space.
  const expected = parseChecksum(await fetchText(site + checksum, circumstances.signal), basename(path));
  if (expected === undefined) throw new DownloadFailed({ url, reason: `${site + checksum} holds no checksum of it` });
  circumstances.progress({ type: "downloading", url });
  const actual = await fetchFile(url, file, circumstances);
  if (actual !== expected) throw new ChecksumMismatch({ url, actual, expected, checksum: basename(checksum) });
  if (member === undefined) return;
  const tar = which("tar", circumstances.env) ?? "tar";
  await runCommand(tar, ["-xzf", file, "-C", workshop, member], { ...circumstances, cwd: workshop });
  if (member !== component.name) await rename(join(workshop, member), join(workshop, component.name));
}

/** The SHA-256 in a checksum file: alone, or on the line that ends with the file's name. */
export function parseChecksum(text: string, name: string): string | undefined {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
  const line = lines.find(([, file]) => file?.replace(/^\*/, "") === name) ?? lines.find((words) => words.length === 1);
  const hash = line?.[0]?.toLowerCase();
  return hash !== undefined && /^[0-9a-f]{64}$/.test(hash) ? hash : undefined;
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  return attempt(url, signal, async () => {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(STALL_MS)]) });
    await refuseUnlessOk(response);
    return await response.text();
  });
}

/** Streams to a file and returns the SHA-256 of what came. */
async function fetchFile(url: string, file: string, { signal, clock, progress }: Circumstances): Promise<string> {
  return attempt(url, signal, async () => {
    const stalled = new AbortController();
    const watchStall = () =>
      clock.after(STALL_MS, () => stalled.abort(new Error(`nothing came for ${STALL_MS / 1000} s`)));
    let cancelStall = watchStall();
    const target = await open(file, "w", 0o755);
    try {
      const response = await fetch(url, { signal: AbortSignal.any([signal, stalled.signal]) });
      await refuseUnlessOk(response);
      const total = Number(response.headers.get("content-length")) || undefined;
      const hash = createHash("sha256");
      let received = 0;
      let reported = clock.now();
      for await (const chunk of response.body ?? []) {
        cancelStall();
        cancelStall = watchStall();
        hash.update(chunk);
        await target.write(chunk);
        received += chunk.length;
        if (clock.now() - reported < REPORT_EVERY_MS) continue;
        reported = clock.now();
        progress({ type: "still-downloading", url, received, total });
      }
      return hash.digest("hex");
    } finally {
      cancelStall();
      await target.close();
    }
  });
}

async function refuseUnlessOk(response: Response): Promise<void> {
  if (response.ok) return;
  await response.body?.cancel();
  throw new Error(`the site answered ${response.status} ${response.statusText}`);
}

async function attempt<T>(url: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw new DownloadFailed({ url, reason: describeError(error) }, { cause: error });
  }
}
