import type { Clock } from "@fjord/base";
import { demoPlans } from "./demo-plan.ts";
import { EmbeddedSubstrate } from "./embedded/embedded-substrate.ts";
import type { Substrate, SubstrateName } from "./substrate.ts";

export interface OpenSubstrateOptions {
  readonly directory: string;
  readonly berth: number;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

/** The sites of the demo in a berth; nothing of them is started yet. */
export async function openSubstrate(
  name: SubstrateName,
  { directory, berth, env, clock }: OpenSubstrateOptions,
): Promise<Substrate> {
  const options = { directory, plans: demoPlans(berth), env, clock };
  if (name !== "kubernetes") return new EmbeddedSubstrate(options);
  // Loaded on demand: whoever has no use for real nodes need not wait for what starts them.
  const { KubernetesSubstrate } = await import("./kubernetes/kubernetes-substrate.ts");
  return new KubernetesSubstrate(options);
}
