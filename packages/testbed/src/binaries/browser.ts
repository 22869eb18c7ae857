import { join } from "node:path";
import { systemClock } from "@fjord/base";
import { cacheDirectory } from "./cache.ts";
import { BrowserUnavailable } from "./errors.ts";
import { which } from "./find.ts";
import { withLock } from "./lock.ts";
import { type EnsureNodeOptions, installPackages, thisHost } from "./node-packages.ts";
import type { Environment } from "./platform.ts";

/** Where Chromium is on this machine; FJORD_BROWSER says so where it is elsewhere. */
export function findBrowser(env: Environment, folders = thisHost().programFolders): string | undefined {
  if (env.FJORD_BROWSER) return env.FJORD_BROWSER;
  return which("chromium", env, folders) ?? which("chromium-browser", env, folders);
}

/** Finds Chromium; as root on a Debian-like machine, installs it where it is missing. */
export async function ensureBrowser(options: EnsureNodeOptions): Promise<string> {
  const { env, host = thisHost(), clock = systemClock, signal = new AbortController().signal } = options;
  const found = findBrowser(env, host.programFolders);
  if (found !== undefined) return found;
  const apt = which("apt-get", env, host.programFolders);
  if (host.uid !== 0) throw new BrowserUnavailable({ reason: "only root can install one" });
  if (apt === undefined) throw new BrowserUnavailable({ reason: "there is no apt-get to install one with" });
  return withLock(join(cacheDirectory(env), "node-packages.lock"), { clock, signal }, async () => {
    const before = findBrowser(env, host.programFolders);
    if (before !== undefined) return before;
    await installPackages(apt, ["chromium"], { ...options, clock, signal });
    const after = findBrowser(env, host.programFolders);
    if (after === undefined) throw new BrowserUnavailable({ reason: "its package has no program chromium" });
    return after;
  });
}
