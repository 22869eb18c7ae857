/** Fields of a claim that name a volume, or what is to be in it, instead of asking for one. */
const CHOOSING = ["volumeName", "selector", "dataSource", "dataSourceRef"] as const;
/** What the class was called before it was a field. */
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

/**
 * The field by which a claim, or a template of claims, chooses its volume among those that are there; undefined where it leaves that to
 * the site. The empty class is that of volumes which somebody has made by hand.
 */
export function chosenVolume({ metadata, spec }: { metadata?: unknown; spec?: unknown }): string | undefined {
  const fields = recordOf(spec);
  const named = CHOOSING.find((field) => fields[field] !== undefined && fields[field] !== null && fields[field] !== "");
  const classes = [fields.storageClassName, recordOf(recordOf(metadata).annotations)[CLASS_ANNOTATION]];
  return named ?? (classes.includes("") ? "storageClassName" : undefined);
}

/** Whatever was written there: it comes from another site. */
function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
