import type { KubeObject } from "@fjord/base";

/** The question of an API server, as far as it matters here. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly namespace?: string;
  readonly name?: string;
  readonly dryRun?: boolean;
  readonly object?: KubeObject;
  readonly oldObject?: KubeObject;
}

export interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: unknown;
}

export type Verdict =
  | { readonly allowed: true; readonly patch?: readonly PatchOperation[]; readonly warnings?: readonly string[] }
  | { readonly allowed: false; readonly message: string };

/** The request in a posted AdmissionReview; throws where it is none. */
export function parseReview(body: unknown): AdmissionRequest {
  const { request } = (body ?? {}) as { request?: Partial<AdmissionRequest> };
  if (typeof request?.uid !== "string" || typeof request.operation !== "string")
    throw new Error("this is no AdmissionReview");
  return request as AdmissionRequest;
}

/** The AdmissionReview to answer with. */
export function reviewAnswer(uid: string, verdict: Verdict): unknown {
  const response = verdict.allowed
    ? {
        uid,
        allowed: true,
        ...(verdict.warnings && { warnings: verdict.warnings }),
        ...(verdict.patch &&
          verdict.patch.length > 0 && {
            patchType: "JSONPatch",
            patch: Buffer.from(JSON.stringify(verdict.patch)).toString("base64"),
          }),
      }
    : { uid, allowed: false, status: { code: 403, reason: "Forbidden", message: verdict.message } };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}
