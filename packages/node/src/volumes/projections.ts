import { describeError } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { ConfigMapMissing, SecretMissing } from "../environment/errors.ts";
import type { PodSpec } from "../environment/pod-containers.ts";
import { podField } from "../environment/pod-field.ts";
import { resourceField } from "../environment/resource-field.ts";
import type { PodObjects } from "../objects/pod-objects.ts";
import {
  ConfigMapReferencesMissingKey,
  ProjectionFailed,
  SecretReferencesMissingKey,
  UnsupportedVolume,
} from "./errors.ts";
import type { ProjectedFile, Projection } from "./file-projection.ts";
import type { Ownership } from "./ownership.ts";
import type { PodFacts } from "./pod-volumes.ts";

export type Volume = NonNullable<PodSpec["volumes"]>[number];
type Source = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];
type Items = NonNullable<NonNullable<Volume["configMap"]>["items"]>;
type DownwardItems = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>;
type Token = NonNullable<Source["serviceAccountToken"]>;

/** Where the content of a pod's volumes comes from. */
export interface ProjectionContext {
  readonly pod: Pod;
  readonly facts: PodFacts;
  readonly objects: PodObjects;
  readonly ownership: Ownership;
  readonly signal?: AbortSignal | undefined;
  /** Told when a token of the volume should be replaced. */
  readonly onToken: (refreshAt: number) => void;
}

const DEFAULT_MODE = 0o644;
const DEFAULT_TOKEN_SECONDS = 3600;

/** Whether the files of a volume come from the API. */
export function isProjection(volume: Volume): boolean {
  return (volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected) !== undefined;
}

/** The files that a volume holds now. */
export async function projectionOf(volume: Volume, context: ProjectionContext): Promise<Projection> {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap !== undefined) return configMapFiles(configMap, configMap.defaultMode ?? DEFAULT_MODE, context);
  if (secret !== undefined) {
    return secretFiles({ ...secret, name: secret.secretName }, secret.defaultMode ?? DEFAULT_MODE, context);
  }
  if (downwardAPI !== undefined) {
    return downwardFiles(downwardAPI.items ?? [], downwardAPI.defaultMode ?? DEFAULT_MODE, context);
  }
  return projectedFiles(projected?.sources ?? [], projected?.defaultMode ?? DEFAULT_MODE, context);
}

interface KeyedSource {
  readonly name?: string | undefined;
  readonly items?: Items;
  readonly optional?: boolean;
}

async function configMapFiles(source: KeyedSource, mode: number, context: ProjectionContext): Promise<Projection> {
  const { name = "", optional = false } = source;
  const configMap = await context.objects.configMap(context.pod.metadata.namespace ?? "", name, context.signal);
  if (configMap === undefined && !optional) throw new ConfigMapMissing({ name });
  const data = new Map<string, Buffer>();
  for (const [key, text] of Object.entries(configMap?.data ?? {})) data.set(key, Buffer.from(text));
  for (const [key, base64] of Object.entries(configMap?.binaryData ?? {})) {
    if (!data.has(key)) data.set(key, Buffer.from(base64, "base64"));
  }
  return pickFiles(data, source, mode, (key) => new ConfigMapReferencesMissingKey({ key }));
}

async function secretFiles(source: KeyedSource, mode: number, context: ProjectionContext): Promise<Projection> {
  const { name = "", optional = false } = source;
  const secret = await context.objects.secret(context.pod.metadata.namespace ?? "", name, context.signal);
  if (secret === undefined && !optional) throw new SecretMissing({ name });
  const data = new Map<string, Buffer>();
  for (const [key, base64] of Object.entries(secret?.data ?? {})) data.set(key, Buffer.from(base64, "base64"));
  return pickFiles(data, source, mode, (key) => new SecretReferencesMissingKey({ key }));
}

/** All keys under their names, or the items under their paths. */
function pickFiles(
  data: ReadonlyMap<string, Buffer>,
  { items = [], optional = false }: KeyedSource,
  mode: number,
  missing: (key: string) => Error,
): Projection {
  if (items.length === 0) return new Map([...data].map(([key, content]) => [key, { data: content, mode }]));
  const files = new Map<string, ProjectedFile>();
  for (const item of items) {
    const content = data.get(item.key);
    if (content !== undefined) files.set(item.path, { data: content, mode: item.mode ?? mode });
    else if (!optional) throw missing(item.key);
  }
  return files;
}

function downwardFiles(items: DownwardItems, mode: number, { pod, facts }: ProjectionContext): Projection {
  const files = new Map<string, ProjectedFile>();
  for (const item of items) {
    let text = "";
    if (item.fieldRef !== undefined) text = podField(pod, item.fieldRef.fieldPath, facts);
    else if (item.resourceFieldRef !== undefined) text = resourceField(pod, undefined, item.resourceFieldRef, facts);
    files.set(item.path, { data: Buffer.from(text), mode: item.mode ?? mode });
  }
  return files;
}

/** All sources are tried, so that one message tells everything that is missing. */
async function projectedFiles(sources: readonly Source[], mode: number, context: ProjectionContext) {
  const files = new Map<string, ProjectedFile>();
  const outcomes = await Promise.allSettled(sources.map((source) => sourceFiles(source, mode, context)));
  const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  if (reasons.length === 1) throw reasons[0];
  if (reasons.length > 1) throw new ProjectionFailed({ reasons: `[${reasons.map(describeError).join(", ")}]` });
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") for (const [path, file] of outcome.value) files.set(path, file);
  }
  return files;
}

async function sourceFiles(source: Source, mode: number, context: ProjectionContext): Promise<Projection> {
  if (source.configMap !== undefined) return configMapFiles(source.configMap, mode, context);
  if (source.secret !== undefined) return secretFiles(source.secret, mode, context);
  if (source.downwardAPI !== undefined) return downwardFiles(source.downwardAPI.items ?? [], mode, context);
  if (source.serviceAccountToken !== undefined) return tokenFile(source.serviceAccountToken, mode, context);
  throw new UnsupportedVolume({ what: `a projected source of kind ${Object.keys(source).join(", ")}` });
}

/** Tokens are for the pod's user or group alone, where these are known. */
async function tokenFile(source: Token, mode: number, context: ProjectionContext): Promise<Projection> {
  const { pod, objects, ownership, signal } = context;
  const request = {
    audience: source.audience ?? "",
    expirationSeconds: source.expirationSeconds ?? DEFAULT_TOKEN_SECONDS,
  };
  const { token, refreshAt } = await objects.token(pod, request, signal);
  context.onToken(refreshAt);
  const { fsUser, fsGroup } = ownership;
  const file = {
    data: Buffer.from(token),
    mode: fsUser === undefined && fsGroup === undefined ? mode : 0o600,
    ...(fsUser === undefined ? {} : { owner: fsUser }),
  };
  return new Map([[source.path, file]]);
}
