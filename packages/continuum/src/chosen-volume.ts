/** Fields of a claim that name a volume, or what is to be in it, instead of asking for one. */
const CHOOSING = ["volumeName", "selector", "dataSource", "dataSourceRef"] as const;

/** The field by which a claim chooses its volume among those that are there; undefined where it leaves that to the site. */
export function chosenVolume(spec: Readonly<Record<string, unknown>>): string | undefined {
  return CHOOSING.find((field) => spec[field] !== undefined && spec[field] !== null && spec[field] !== "");
}
