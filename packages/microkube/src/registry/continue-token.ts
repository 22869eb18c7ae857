import { badRequest, type StatusError } from "../status-error.ts";

/** Where a list goes on: after `after`, at `revision`; -1: as things are then. */
export interface ContinueToken {
  readonly revision: number;
  readonly after: string;
}

/** In Kubernetes' own form: clients take it as it is, but some look into it. */
export function encodeContinue({ revision, after }: ContinueToken, prefix: string): string {
  const token = { v: "meta.k8s.io/v1", rv: revision, start: `${after.slice(prefix.length)}\0` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

export function decodeContinue(text: string, prefix: string): ContinueToken {
  let token: { v?: unknown; rv?: unknown; start?: unknown };
  try {
    token = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    throw invalid("continue key is not valid");
  }
  if (typeof token !== "object" || token === null) throw invalid("continue key is not valid");
  if (token.v !== "meta.k8s.io/v1") {
    throw invalid(`continue key is not valid: server does not recognize this encoded version ${String(token.v ?? "")}`);
  }
  if (!Number.isSafeInteger(token.rv) || token.rv === 0) {
    throw invalid("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  if (typeof token.start !== "string" || token.start === "") {
    throw invalid("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
  }
  const { start } = token;
  const parts = start.replace(/^\//, "").split("/");
  if (parts.some((part, index) => part === ".." || part === "." || (part === "" && index < parts.length - 1))) {
    throw invalid(`continue key is not valid: ${start}`);
  }
  return { revision: token.rv as number, after: prefix + parts.join("/").replace(/\0$/, "") };
}

const invalid = (message: string): StatusError => badRequest(`invalid continue token: ${message}`);
