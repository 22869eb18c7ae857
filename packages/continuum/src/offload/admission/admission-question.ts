import { newObject, OFFLOADING_NAME, Offloading } from "@fjord/api";
import { describeError } from "@fjord/base";
import type { HealthCheck } from "@fjord/kube";
import type { Home } from "../../home.ts";

/** On the Offloading of a dry run by which an agent asks its API server whether it knows of admission at all. */
export const ADMISSION_QUESTION_LABEL = "fjord.dev/admission-question";

/**
 * Fails until the own API server is known to ask about what is made: it learns of the configuration by a watch of its own,
 * and what is made before is not admitted. That it could not reach anybody is an answer too: a Service has no agents
 * behind it before the first of them is ready.
 */
export function admissionInForce({ client, namespace }: Home): HealthCheck {
  let isInForce = false;
  return async (signal) => {
    if (isInForce) return;
    const metadata = { name: OFFLOADING_NAME, namespace, labels: { [ADMISSION_QUESTION_LABEL]: "true" } };
    const question = newObject(Offloading, { metadata, spec: {} });
    const answer = await client.create(Offloading, question, { dryRun: true, signal }).catch(describeError);
    isInForce = typeof answer === "string" && /webhook "[a-z-]+\.fjord\.dev"/.test(answer);
    if (!isInForce) throw new Error("the API server does not ask this agent about what is made yet");
  };
}
