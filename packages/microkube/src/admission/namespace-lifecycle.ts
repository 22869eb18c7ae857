import type { Namespace } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import { forbidden, notFound, StatusError } from "../status-error.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { refusal } from "./refusal.ts";

const immortal = ["default", "kube-system", "kube-public"];
const namespaces = { group: "", plural: "namespaces" };

/** Nothing is made in a namespace that is not there or on its way out, and some namespaces stay. */
export const namespaceLifecycle: AdmissionPlugin = {
  name: "NamespaceLifecycle",
  mutate(request) {
    const { type, operation, name, namespace } = request;
    if (type.group === "" && type.kind === "Namespace") {
      if (operation === "DELETE" && request.subresource === "" && immortal.includes(name)) {
        throw forbidden(type, name, "this namespace may not be deleted");
      }
      return;
    }
    if (namespace === "" || operation === "DELETE" || operation === "CONNECT") return;
    // To tell whether the namespace is there would tell more than the review does.
    if (type.plural === "localsubjectaccessreviews") return;
    const found = find<Namespace>(request.cluster, "Namespace", "", namespace);
    if (found === undefined) throw notFound(namespaces, namespace);
    if (operation === "CREATE" && found.status?.phase === "Terminating") throw terminating(request);
  },
};

function terminating(request: AdmissionRequest): StatusError {
  const { namespace } = request;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { code, reason, message, details } = refusal(request, why);
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return new StatusError(code, reason, message, { ...details, causes: [cause] });
}
