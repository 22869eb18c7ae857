import type { ConfigMap, Pod, Secret } from "@fjord/kube";
import type { PodObjects } from "../objects/pod-objects.ts";
import type { EnvironmentVariable } from "../runtime/configuration.ts";
import type { PodFacts } from "../volumes/pod-volumes.ts";
import { environmentFileValue } from "./environment-file.ts";
import {
  ConfigMapKeyMissing,
  ConfigMapMissing,
  EnvironmentFileKeyMissing,
  EnvironmentFileUnreadable,
  SecretKeyMissing,
  SecretMissing,
} from "./errors.ts";
import { expand } from "./expansion.ts";
import type { Container } from "./pod-containers.ts";
import { own, podField } from "./pod-field.ts";
import { resourceField } from "./resource-field.ts";
import { serviceVariables } from "./service-links.ts";

type ValueSource = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;

/** Reads a file of one of the pod's emptyDir volumes, for `fileKeyRef`; `LocalVolumes.readFile` is one. */
export type ReadVolumeFile = (pod: Pod, volume: string, path: string) => Promise<string>;

/**
 * The variables of a container: `envFrom`, then `env` in its order, then services; the later of two of a name wins, but
 * services give way. Throws with the words of a CreateContainerConfigError where something is missing.
 */
export async function resolveEnvironment(
  pod: Pod,
  container: Container,
  facts: PodFacts,
  objects: PodObjects,
  readFile?: ReadVolumeFile,
): Promise<EnvironmentVariable[]> {
  const namespace = pod.metadata.namespace ?? "";
  const links = serviceVariables(await objects.services(namespace), namespace, pod.spec?.enableServiceLinks ?? true);
  const source = new Source(pod, container, facts, objects, readFile);

  const variables = new Map<string, string>();
  for (const from of container.envFrom ?? []) {
    for (const [key, value] of await source.all(from)) variables.set((from.prefix ?? "") + key, value);
  }
  // What `$(NAME)` may refer to: what was declared before, else a service.
  const known = new Map([...links, ...variables]);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const found = value || valueFrom === undefined ? expand(value ?? "", known) : await source.one(valueFrom);
    if (found === undefined) continue;
    variables.set(name, found);
    known.set(name, found);
  }
  for (const [name, value] of links) if (!variables.has(name)) variables.set(name, value);
  return [...variables].map(([name, value]) => ({ name, value }));
}

/** Where values come from that the pod only refers to. Undefined where an optional one is missing. */
class Source {
  readonly #pod: Pod;
  readonly #namespace: string;
  readonly #container: Container;
  readonly #facts: PodFacts;
  readonly #objects: PodObjects;
  readonly #readFile: ReadVolumeFile | undefined;

  constructor(pod: Pod, container: Container, facts: PodFacts, objects: PodObjects, readFile?: ReadVolumeFile) {
    this.#pod = pod;
    this.#namespace = pod.metadata.namespace ?? "";
    this.#container = container;
    this.#facts = facts;
    this.#objects = objects;
    this.#readFile = readFile;
  }

  async all(from: NonNullable<Container["envFrom"]>[number]): Promise<[string, string][]> {
    if (from.configMapRef !== undefined) {
      return Object.entries((await this.#configMap(from.configMapRef))?.data ?? {});
    }
    if (from.secretRef === undefined) return [];
    const { data = {} } = (await this.#secret(from.secretRef)) ?? {};
    return Object.entries(data).map(([key, value]) => [key, decode(value)]);
  }

  async one(from: ValueSource): Promise<string | undefined> {
    if (from.fieldRef !== undefined) return podField(this.#pod, from.fieldRef.fieldPath, this.#facts);
    if (from.resourceFieldRef !== undefined) {
      return resourceField(this.#pod, this.#container, from.resourceFieldRef, this.#facts);
    }
    if (from.configMapKeyRef !== undefined) return this.#configMapKey(from.configMapKeyRef);
    if (from.secretKeyRef !== undefined) return this.#secretKey(from.secretKeyRef);
    if (from.fileKeyRef !== undefined) return this.#fileKey(from.fileKeyRef);
    return "";
  }

  async #configMap(ref: { name?: string; optional?: boolean }): Promise<ConfigMap | undefined> {
    const { name = "" } = ref;
    const configMap = await this.#objects.configMap(this.#namespace, name);
    if (configMap === undefined && !ref.optional) throw new ConfigMapMissing({ name });
    return configMap;
  }

  async #secret(ref: { name?: string; optional?: boolean }): Promise<Secret | undefined> {
    const { name = "" } = ref;
    const secret = await this.#objects.secret(this.#namespace, name);
    if (secret === undefined && !ref.optional) throw new SecretMissing({ name });
    return secret;
  }

  async #configMapKey(ref: NonNullable<ValueSource["configMapKeyRef"]>): Promise<string | undefined> {
    const value = own((await this.#configMap(ref))?.data, ref.key);
    if (value === undefined && !ref.optional) {
      throw new ConfigMapKeyMissing({ key: ref.key, namespace: this.#namespace, name: ref.name });
    }
    return value;
  }

  async #secretKey(ref: NonNullable<ValueSource["secretKeyRef"]>): Promise<string | undefined> {
    const value = own((await this.#secret(ref))?.data, ref.key);
    if (value !== undefined) return decode(value);
    if (!ref.optional) throw new SecretKeyMissing({ key: ref.key, namespace: this.#namespace, name: ref.name });
    return undefined;
  }

  async #fileKey(ref: NonNullable<ValueSource["fileKeyRef"]>): Promise<string | undefined> {
    if (this.#readFile === undefined) throw new EnvironmentFileUnreadable({ path: ref.path, volume: ref.volumeName });
    const value = environmentFileValue(await this.#readFile(this.#pod, ref.volumeName, ref.path), ref.key);
    if (value === undefined && !ref.optional) throw new EnvironmentFileKeyMissing({ key: ref.key, path: ref.path });
    return value;
  }
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
