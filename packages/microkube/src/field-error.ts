export type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotFound"
  | "FieldValueNotSupported"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "InternalError";

/** One thing that is wrong with an object. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name`. */
  readonly field: string;
  readonly value?: unknown;
  /** The value is too large, or says nothing: it is not shown. */
  readonly omitsValue?: boolean;
  readonly detail: string;
}

const titles: Record<FieldErrorType, string> = {
  FieldValueRequired: "Required value",
  FieldValueInvalid: "Invalid value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueNotFound: "Not found",
  FieldValueNotSupported: "Unsupported value",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTypeInvalid: "Invalid value",
  InternalError: "Internal error",
};

export const required = (field: string, detail = ""): FieldError => ({ type: "FieldValueRequired", field, detail });
export const forbiddenField = (field: string, detail: string): FieldError => ({
  type: "FieldValueForbidden",
  field,
  detail,
});
export const invalidField = (field: string, value: unknown, detail: string): FieldError => ({
  type: "FieldValueInvalid",
  field,
  value,
  detail,
});
export const duplicate = (field: string, value: unknown): FieldError => ({
  type: "FieldValueDuplicate",
  field,
  value,
  detail: "",
});
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  type: "FieldValueNotSupported",
  field,
  value,
  detail: `supported values: ${supported.map((one) => JSON.stringify(one)).join(", ")}`,
});

/** `spec.replicas: Invalid value: -1: must be greater than or equal to 0`, to the letter as Kubernetes says it. */
export function describeFieldError({ type, field, value, omitsValue, detail }: FieldError): string {
  const hasValue = !["FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"].includes(type);
  const parts = [field, titles[type]];
  if (hasValue && !omitsValue) parts.push(value === undefined ? "null" : JSON.stringify(value));
  if (detail !== "") parts.push(detail);
  return parts.join(": ");
}
