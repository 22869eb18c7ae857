import { forbidden, type StatusError } from "../status-error.ts";
import type { AdmissionRequest } from "./admission.ts";

/** A plugin's refusal. An object whose name is yet to be generated is called by what its name will begin with. */
export function refusal({ type, name, object }: AdmissionRequest, why: string): StatusError {
  const { name: own, generateName } = object?.metadata ?? {};
  return forbidden(type, name || own || generateName || "Unknown", why);
}

/** Whether the request is for this resource itself, and not for one of its subresources. */
export function isFor(request: AdmissionRequest, plural: string, group = ""): boolean {
  const { type, subresource } = request;
  return type.plural === plural && type.group === group && subresource === "";
}
