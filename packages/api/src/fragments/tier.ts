import { enumeration } from "../schema/index.ts";

/** What sort of place a site is. */
export function tier() {
  return enumeration({
    cloud: "a data centre.",
    edge: "a small cluster near its users.",
    device: "a single machine.",
  });
}
