import {
  againAfter,
  CertificateSigningRequest,
  done,
  ifNotFound,
  type KubeClient,
  type Result,
  SubjectAccessReview,
  watches,
} from "@fjord/kube";
import type { ControlLoop } from "../controllers/control-loop.ts";
import { Loop } from "../controllers/loop.ts";
import type { Authority } from "./authority.ts";
import {
  approvalMessages,
  autoApprovals,
  expiryOf,
  KUBE_SIGNERS,
  signingProblem,
  signRequest,
} from "./certificate-signer.ts";
import { parseSigningRequest } from "./signing-request.ts";

/** Approves what new nodes ask for, signs what is approved, and clears away what nobody needs any more. */
export function certificateController(authority: Authority): ControlLoop {
  return (means) => {
    const { client, clock } = means;
    const loop = new Loop(means, "certificatesigningrequest");
    const requests = loop.open(CertificateSigningRequest);
    const now = () => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");

    const reconcile = async ({ name }: { name: string }, signal: AbortSignal): Promise<Result> => {
      const request = requests.get({ name });
      if (request === undefined) return done();
      const left = expiryOf(request) - clock.now();
      if (left <= 0) {
        await client.delete(CertificateSigningRequest, { name }, { signal }).catch(ifNotFound);
        return done();
      }
      const has = (type: string) =>
        request.status?.conditions?.some((one) => one.type === type && one.status === "True");
      const isSettled = Boolean(request.status?.certificate) || has("Denied") || has("Failed");
      if (!isSettled && has("Approved")) await sign(request, signal);
      else if (!isSettled) await approve(request, signal);
      return againAfter(left);
    };

    const approve = async (request: CertificateSigningRequest, signal: AbortSignal): Promise<void> => {
      for (const permission of autoApprovals(request.spec, parse(request))) {
        if (!(await mayHave(client, request, permission, signal))) continue;
        await client.update(
          CertificateSigningRequest,
          withCondition(request, {
            type: "Approved",
            reason: "AutoApproved",
            message: approvalMessages[permission],
            time: now(),
          }),
          { subresource: "approval", signal },
        );
        return;
      }
    };

    const sign = async (request: CertificateSigningRequest, signal: AbortSignal): Promise<void> => {
      if (!KUBE_SIGNERS.includes(request.spec.signerName as (typeof KUBE_SIGNERS)[number])) return;
      const parsed = parse(request);
      const problem = signingProblem(request.spec, parsed);
      const failure = { type: "Failed", reason: "SignerValidationFailure", message: problem ?? "", time: now() };
      const signed = () => Buffer.from(signRequest(authority, request.spec, parsed, clock.now())).toString("base64");
      const next =
        problem === undefined
          ? { ...request, status: { ...request.status, certificate: signed() } }
          : withCondition(request, failure);
      await client.updateStatus(CertificateSigningRequest, next, { signal });
    };

    return loop.reconciles({
      sources: [watches(requests)],
      reconcile: (request, { signal }) => reconcile(request, signal),
    });
  };
}

const parse = ({ spec }: CertificateSigningRequest) =>
  parseSigningRequest(Buffer.from(spec.request, "base64").toString("latin1"));

function withCondition(
  request: CertificateSigningRequest,
  { type, reason, message, time }: { type: string; reason: string; message: string; time: string },
): CertificateSigningRequest {
  const condition = { type, status: "True", reason, message, lastUpdateTime: time };
  return { ...request, status: { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] } };
}

async function mayHave(
  client: KubeClient,
  { spec }: CertificateSigningRequest,
  subresource: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { username, uid, groups, extra } = spec;
  const resourceAttributes = {
    group: "certificates.k8s.io",
    version: "*",
    resource: "certificatesigningrequests",
    subresource,
    verb: "create",
  };
  const asked = {
    ...(username && { user: username }),
    ...(uid && { uid }),
    ...(groups && { groups }),
    ...(extra && { extra }),
  };
  const review = await client.create(
    SubjectAccessReview,
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      metadata: {},
      spec: { ...asked, resourceAttributes },
    },
    { signal },
  );
  return review.status?.allowed ?? false;
}
