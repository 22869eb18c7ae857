export type Fields = Readonly<Record<string, unknown>>;

/** The fields of what another site has written, whatever that is; none of what is no object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
