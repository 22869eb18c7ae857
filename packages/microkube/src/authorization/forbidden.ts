import type { Caller } from "../cluster.ts";
import { StatusError } from "../status-error.ts";
import type { Attributes } from "./authorizer.ts";

/** The answer to what nobody has allowed, in Kubernetes' words. */
export function forbiddenRequest({ user }: Caller, attributes: Attributes, reason = ""): StatusError {
  const told = reason === "" ? "" : `: ${reason}`;
  if ("path" in attributes) {
    const message = escaped(
      `User ${JSON.stringify(user)} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`,
    );
    return new StatusError(403, "Forbidden", `forbidden: ${message}${told}`, {});
  }
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const cannot = `User ${JSON.stringify(user)} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`;
  const qualified = group === "" ? resource : `${resource}.${group}`;
  const subject = name === "" ? qualified : `${qualified} ${JSON.stringify(name)}`;
  return new StatusError(403, "Forbidden", `${subject} is forbidden: ${escaped(cannot)}${told}`, {
    ...(name !== "" && { name }),
    ...(group !== "" && { group }),
    kind: resource,
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
