import type { Kind } from "@fjord/base";
import type { DynamicObject } from "@fjord/kube";
import type { Body, ReflectedKind, TwinContext } from "../reflected-kind.ts";
import { checkedJson } from "./checked-json.ts";

/** How a custom resource that the operator lists is reflected outwards; with `status` the twin's comes back. */
export function customKind(kind: Kind<DynamicObject>, { status }: { status: boolean }): ReflectedKind<DynamicObject> {
  return {
    kind,
    // Where the rules of the own Site do not list it.
    policy: "Never",
    forge: content,
    seen: content,
    ...(status && { statusFrom: checkedStatus }),
  };
}

/** All that is neither a name nor what others have said of the object. */
export function content({
  apiVersion: _apiVersion,
  kind: _kind,
  metadata: _metadata,
  status: _status,
  ...body
}: DynamicObject): Body {
  return body;
}

/** Of several twins the first one's status is the object's: theirs cannot all be. */
function checkedStatus({ status }: DynamicObject, _object: DynamicObject, context: TwinContext): Body | undefined {
  if (!context.isFirstSite) return undefined;
  const checked = checkedJson(status);
  return typeof checked === "object" && checked !== null && !Array.isArray(checked) ? (checked as Body) : undefined;
}
