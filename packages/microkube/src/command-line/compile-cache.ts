import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * From now on what V8 makes of sources is kept for the next start, among the user's caches; where nothing can be kept there,
 * nothing is. Node writes it when it is told to or ends.
 */
export function keepCompiled({ XDG_CACHE_HOME, NODE_COMPILE_CACHE }: NodeJS.ProcessEnv): void {
  if (NODE_COMPILE_CACHE !== undefined) return;
  enableCompileCache(join(XDG_CACHE_HOME || join(homedir(), ".cache"), "microkube"));
}
