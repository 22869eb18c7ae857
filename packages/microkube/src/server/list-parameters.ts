import type { FieldError } from "../field-error.ts";
import { notSupported } from "../field-error.ts";
import { invalid } from "../status-error.ts";

/** Whether the parameters of a list or a watch go together, as the real server asks. */
export function checkListParameters(query: URLSearchParams, isWatch: boolean): void {
  const match = query.get("resourceVersionMatch") ?? "";
  const resourceVersion = query.get("resourceVersion") ?? "";
  const initial = query.get("sendInitialEvents");
  const errors: FieldError[] = [];
  const forbid = (field: string, detail: string) => errors.push({ type: "FieldValueForbidden", field, detail });
  if (isWatch) {
    if (initial !== null && match === "") {
      forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    } else if (match !== "" && initial === null) {
      forbid(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      );
    } else if (match !== "" && match !== "NotOlderThan") {
      errors.push(notSupported("resourceVersionMatch", match, ["NotOlderThan"]));
    }
  } else {
    if (initial !== null) forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    if (match !== "") {
      if (resourceVersion === "") {
        forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
      }
      if ((query.get("continue") ?? "") !== "") {
        forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
      }
      if (match !== "Exact" && match !== "NotOlderThan") {
        errors.push(notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]));
      }
      if (match === "Exact" && resourceVersion === "0") {
        forbid("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
      }
    }
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}
