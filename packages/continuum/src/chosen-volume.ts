import { fieldsOf } from "./fields-of.ts";

/** Fields of a claim that name a volume, or what is to be in it, instead of asking for one. */
const CHOOSING = ["volumeName", "selector", "dataSource", "dataSourceRef"] as const;
/** What the class was called before it was a field. */
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

/**
 * The field by which a claim, or a template of claims, chooses its volume among those that are there; undefined where it leaves that to
 * the site. The empty class is that of volumes which somebody has made by hand.
 */
export function chosenVolume({ metadata, spec }: { metadata?: unknown; spec?: unknown }): string | undefined {
  const fields = fieldsOf(spec);
  const named = CHOOSING.find((field) => fields[field] !== undefined && fields[field] !== null && fields[field] !== "");
  const classes = [fields.storageClassName, fieldsOf(fieldsOf(metadata).annotations)[CLASS_ANNOTATION]];
  return named ?? (classes.includes("") ? "storageClassName" : undefined);
}
