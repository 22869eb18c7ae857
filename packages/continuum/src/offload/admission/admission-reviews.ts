import type { Home } from "../../home.ts";
import type { AdmissionServerOptions } from "./admission-server.ts";
import { reviewDaemonSet } from "./daemon-set-admission.ts";
import { KnownOffloadings } from "./known-offloadings.ts";
import { reviewQuestion } from "./label-question.ts";
import { NamespaceAdmission } from "./namespace-admission.ts";
import { OffloadingAdmission } from "./offloading-admission.ts";
import { PodAdmission, reviewPlacedPod } from "./pod-admission.ts";

export type AdmissionReviews = AdmissionServerOptions["reviews"];

/** All that the webhook configuration has the own API server ask, by path. */
export function admissionReviews(home: Home): AdmissionReviews {
  const known = new KnownOffloadings(home);
  const pods = new PodAdmission(known);
  const namespaces = new NamespaceAdmission(known, home.namespace);
  const offloadings = new OffloadingAdmission(home, known);
  return {
    "/admission/pods": (request) => pods.review(request),
    "/admission/placed-pods": reviewPlacedPod,
    "/admission/namespaces": (request) => namespaces.review(request),
    "/admission/offloadings": (request) => offloadings.review(request),
    "/admission/label-questions": reviewQuestion,
    "/admission/rules": (request) => offloadings.reviewRule(request),
    "/admission/daemonsets": reviewDaemonSet,
  };
}
