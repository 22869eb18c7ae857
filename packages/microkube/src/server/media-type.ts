import { StatusError } from "../status-error.ts";

/** In which form an answer is sent. */
export interface AnswerForm {
  readonly format: "json" | "yaml";
  /** Another shape than the objects' own. */
  readonly as?: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | "APIGroupDiscoveryList";
  /** The version of that shape. */
  readonly version?: string;
}

interface Clause {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

export const PLAIN: AnswerForm = { format: "json" };
const MEDIA_TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/** What clients send again and again; their number is bounded. */
const known = new Map<string, AnswerForm | undefined>();

/** The first form that the client accepts and the path offers. Throws (406). */
export function answerForm(accept: string | undefined, offers: readonly string[]): AnswerForm {
  if (accept === undefined || accept === "" || accept === "*/*" || accept === "application/json") return PLAIN;
  const key = `${offers.join()} ${accept}`;
  let form = known.get(key);
  if (form === undefined && !known.has(key)) {
    form = choose(accept, offers);
    if (known.size < 200) known.set(key, form);
  }
  if (form !== undefined) return form;
  throw new StatusError(406, "NotAcceptable", `only the following media types are accepted: ${MEDIA_TYPES}`);
}

function choose(accept: string, offers: readonly string[]): AnswerForm | undefined {
  const clauses = accept.split(",").map(clauseOf);
  clauses.sort((a, b) => b.quality - a.quality);
  for (const { type, parameters } of clauses) {
    const format = formatOf(type);
    if (format === undefined) continue;
    const as = parameters.get("as");
    if (as === undefined) return { format };
    const version = parameters.get("v") ?? "";
    if (isOffered(as, parameters.get("g") ?? "", version, offers)) {
      return { format, as: as as AnswerForm["as"] & string, version };
    }
  }
  return undefined;
}

function formatOf(type: string): AnswerForm["format"] | undefined {
  if (["application/json", "*/*", "application/*"].includes(type)) return "json";
  return type === "application/yaml" ? "yaml" : undefined;
}

function isOffered(as: string, group: string, version: string, offers: readonly string[]): boolean {
  if (!offers.includes(as)) return false;
  if (as === "APIGroupDiscoveryList") return group === "apidiscovery.k8s.io" && ["v2", "v2beta1"].includes(version);
  return group === "meta.k8s.io" && ["v1", "v1beta1"].includes(version);
}

function clauseOf(text: string): Clause {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(
    rest.map((part): [string, string] => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    }),
  );
  const quality = Number(parameters.get("q") ?? 1);
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 1 : quality };
}

/** The media type of a body, without its parameters. */
export function contentType(header: string | undefined): string {
  return (header ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export function unsupportedMediaType(accepted: readonly string[] | undefined): StatusError {
  const list = accepted?.join(", ") ?? MEDIA_TYPES;
  const message = `the body of the request was in an unknown format - accepted media types include: ${list}`;
  return new StatusError(415, "UnsupportedMediaType", message);
}
