import type { FieldError } from "../field-error.ts";
import { notSupported } from "../field-error.ts";
import type { DeleteOptions } from "../registry/index.ts";
import type { FieldValidation } from "../schema/index.ts";
import { badRequest, invalid } from "../status-error.ts";

/** What the parameters of a write say. */
export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean | undefined;
  /** As admission webhooks get them. */
  readonly sent: Record<string, unknown>;
}

const LONGEST_MANAGER = 128;

/** Reads and checks CreateOptions, UpdateOptions and PatchOptions. */
export function writeOptions(
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  query: URLSearchParams,
  userAgent: string | undefined,
  isApply = false,
): WriteOptions {
  const errors: FieldError[] = [];
  const manager = query.get("fieldManager") ?? "";
  const force = query.get("force");
  if (kind === "PatchOptions" && isApply && manager === "") {
    errors.push({ type: "FieldValueRequired", field: "fieldManager", detail: "is required for apply patch" });
  }
  if (kind === "PatchOptions" && !isApply && force !== null) {
    errors.push({ type: "FieldValueForbidden", field: "force", detail: "may not be specified for non-apply patch" });
  }
  if (manager.length > LONGEST_MANAGER) {
    const detail = `may not be more than ${LONGEST_MANAGER} bytes`;
    errors.push({ type: "FieldValueTooLong", field: "fieldManager", detail });
  }
  const strange = [...manager].findIndex((one) => /[\p{C}\p{Zl}\p{Zp}]/u.test(one));
  if (strange >= 0) {
    errors.push({
      type: "FieldValueInvalid",
      field: "fieldManager",
      value: manager,
      detail: "should only contain printable characters",
    });
  }
  const dryRun = query.getAll("dryRun").filter((one) => one !== "");
  errors.push(...checkDryRun(dryRun));
  const fieldValidation = query.get("fieldValidation") ?? "";
  if (!["", "Ignore", "Warn", "Strict"].includes(fieldValidation)) {
    errors.push(notSupported("fieldValidation", fieldValidation, ["", "Ignore", "Strict", "Warn"]));
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, "", errors);
  const isForced = force === null ? undefined : readBoolean("force", force);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: manager === "" ? managerFromAgent(userAgent ?? "") : manager,
    fieldValidation: (fieldValidation || "Warn") as FieldValidation,
    force: isForced,
    sent: {
      kind,
      apiVersion: "meta.k8s.io/v1",
      ...(dryRun.length > 0 && { dryRun }),
      ...(isForced !== undefined && { force: isForced }),
      ...(manager !== "" && { fieldManager: manager }),
      ...(fieldValidation !== "" && { fieldValidation }),
    },
  };
}

function checkDryRun(values: readonly string[]): FieldError[] {
  if (values.every((one) => one === "All")) return [];
  return [notSupported("dryRun", values, ["All"])];
}

/** What comes before the first slash, as far as it can be shown. */
function managerFromAgent(agent: string): string {
  const name = agent.split("/", 1)[0] ?? "";
  return [...name]
    .filter((one) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(one))
    .join("")
    .slice(0, LONGEST_MANAGER);
}

function readBoolean(name: string, text: string): boolean {
  const lower = text.toLowerCase();
  if (["", "1", "t", "true"].includes(lower)) return true;
  if (["0", "f", "false"].includes(lower)) return false;
  throw badRequest(
    `Invalid value: ${JSON.stringify(text)}: ${name}: strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}

export type SentDeleteOptions = DeleteOptions & { readonly dryRun?: readonly string[] };

/** DeleteOptions of a body, or without one of the query. */
export function deleteOptions(body: unknown, query: URLSearchParams): SentDeleteOptions {
  const options = body === undefined ? fromQuery(query) : readDeleteOptions(body);
  const errors: FieldError[] = [];
  const { orphanDependents, propagationPolicy, dryRun = [] } = options;
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    errors.push({
      type: "FieldValueInvalid",
      field: "propagationPolicy",
      value: propagationPolicy,
      detail: "orphanDependents and deletionPropagation cannot be both set",
    });
  }
  if (propagationPolicy !== undefined && !["Foreground", "Background", "Orphan"].includes(propagationPolicy)) {
    errors.push(notSupported("propagationPolicy", propagationPolicy, ["Foreground", "Background", "Orphan", "nil"]));
  }
  errors.push(...checkDryRun(dryRun));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  return options;
}

function fromQuery(query: URLSearchParams): SentDeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const orphan = query.get("orphanDependents");
  const policy = query.get("propagationPolicy");
  const dryRun = query.getAll("dryRun").filter((one) => one !== "");
  return {
    ...(grace !== null && grace !== "" && { gracePeriodSeconds: whole(grace) }),
    ...(orphan !== null && { orphanDependents: readBoolean("orphanDependents", orphan) }),
    ...(policy !== null && { propagationPolicy: policy }),
    ...(dryRun.length > 0 && { dryRun }),
  };
}

/** A number of the query; the real server does not say which one is wrong. */
export function whole(text: string): number {
  if (/^-?\d{1,18}$/.test(text)) return Number(text);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}

function readDeleteOptions(body: unknown): SentDeleteOptions {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badRequest("decoded object cannot be converted to DeleteOptions");
  }
  const { gracePeriodSeconds, preconditions, orphanDependents, propagationPolicy, dryRun, kind } = body as Record<
    string,
    unknown
  >;
  if (kind !== undefined && kind !== "" && kind !== "DeleteOptions") {
    throw badRequest("decoded object cannot be converted to DeleteOptions");
  }
  const bad = (field: string) => badRequest(`json: cannot unmarshal into Go struct field DeleteOptions.${field}`);
  if (isSet(gracePeriodSeconds) && !Number.isSafeInteger(gracePeriodSeconds)) throw bad("gracePeriodSeconds");
  if (isSet(orphanDependents) && typeof orphanDependents !== "boolean") throw bad("orphanDependents");
  if (isSet(propagationPolicy) && typeof propagationPolicy !== "string") throw bad("propagationPolicy");
  if (isSet(dryRun) && !(Array.isArray(dryRun) && dryRun.every((one) => typeof one === "string"))) throw bad("dryRun");
  if (isSet(preconditions) && (typeof preconditions !== "object" || Array.isArray(preconditions))) {
    throw bad("preconditions");
  }
  const { uid, resourceVersion } = (preconditions ?? {}) as { uid?: unknown; resourceVersion?: unknown };
  if (isSet(uid) && typeof uid !== "string") throw bad("preconditions.uid");
  if (isSet(resourceVersion) && typeof resourceVersion !== "string") throw bad("preconditions.resourceVersion");
  return {
    ...(isSet(gracePeriodSeconds) && { gracePeriodSeconds: gracePeriodSeconds as number }),
    ...(isSet(orphanDependents) && { orphanDependents: orphanDependents as boolean }),
    ...(isSet(propagationPolicy) && { propagationPolicy: propagationPolicy as string }),
    ...(isSet(dryRun) && { dryRun: dryRun as string[] }),
    ...(isSet(preconditions) && {
      preconditions: {
        ...(isSet(uid) && { uid: uid as string }),
        ...(isSet(resourceVersion) && { resourceVersion: resourceVersion as string }),
      },
    }),
  };
}

const isSet = (value: unknown) => value !== undefined && value !== null;
