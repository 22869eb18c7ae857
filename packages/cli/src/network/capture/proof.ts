import { proofName, requestProof } from "@fjord/agent/proven-user";
import { describeError } from "@fjord/base";
import { CertificateSigningRequest, isForbidden, isNotFound, type KubeClient } from "@fjord/kube";
import { NoProof } from "../../errors.ts";

const PURPOSE = "network-capture";
/** For what is done after an interrupt, too. */
const FORGET_MS = 5_000;

export interface ProofOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** Told where the request could not be deleted. */
  readonly note: (text: string) => void;
}

/** With a code that shows who this is; the request that it belongs to goes when `use` has ended, however it has, where who asks may delete it. */
export async function withProof<T>(
  { client, signal, note }: ProofOptions,
  use: (code: string) => Promise<T>,
): Promise<T> {
  const code = await requestProof(client, PURPOSE, signal).catch((error: unknown) => {
    throw isForbidden(error) ? new NoProof({}, { cause: error }) : error;
  });
  try {
    return await use(code);
  } finally {
    const name = proofName(PURPOSE, code);
    await client
      .delete(CertificateSigningRequest, { name }, { signal: AbortSignal.timeout(FORGET_MS) })
      .catch((error: unknown) => {
        // Whoever may only capture may delete nobody's requests: Kubernetes does that in a day.
        if (isForbidden(error) || isNotFound(error)) return;
        note(`CertificateSigningRequest ${name} is left: ${describeError(error)}\n`);
      });
  }
}
