import { join } from "node:path";
import type { BedState } from "../state.ts";

/** Where a bed's network process listens for commands. */
export function networkSocket(state: Pick<BedState, "runtimeDirectory">): string {
  return join(state.runtimeDirectory, "network.sock");
}
