import type { KubeObject } from "@fjord/base";
import { StatusError } from "../../status-error.ts";
import type { KindDefinition } from "../kind.ts";
import type { Answerer, CompleteMeans } from "../kind-means.ts";

/** Questions that are answered and not kept. */
export function reviewKinds(means: CompleteMeans): KindDefinition[] {
  const authentication = "authentication.k8s.io";
  const authorization = "authorization.k8s.io";
  return [
    review(authentication, "TokenReview", means.tokenReview),
    review(authentication, "SelfSubjectReview", selfSubjectReview),
    review(authorization, "SubjectAccessReview", means.subjectAccessReview),
    review(authorization, "LocalSubjectAccessReview", means.localSubjectAccessReview),
    review(authorization, "SelfSubjectAccessReview", means.selfSubjectAccessReview),
    review(authorization, "SelfSubjectRulesReview", means.selfSubjectRulesReview),
  ];
}

function review(group: string, kind: string, answer: Answerer | undefined): KindDefinition {
  return {
    group,
    kind,
    act: (request) => {
      if (answer === undefined) throw new StatusError(501, "NotImplemented", `this server answers no ${kind}`);
      return answer(request);
    },
  };
}

/** `kubectl auth whoami`. */
const selfSubjectReview: Answerer = async ({ caller, cluster, body }) => {
  const { user, uid, groups, extra } = caller;
  const creationTimestamp = `${new Date(cluster.clock.now()).toISOString().slice(0, 19)}Z`;
  const userInfo = {
    username: user,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
  };
  return { ...body, metadata: { creationTimestamp }, status: { userInfo } } as unknown as KubeObject;
};
