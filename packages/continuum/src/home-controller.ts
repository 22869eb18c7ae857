import { Controller, type ControllerOptions } from "@fjord/kube";
import type { Means } from "./home.ts";

/** A controller with the means of the site that it works for. */
export function homeController(
  { clock, random, logger, metrics }: Means,
  options: Omit<ControllerOptions, keyof Means>,
): Controller {
  return new Controller({ ...options, clock, random, logger, ...(metrics && { metrics }) });
}
