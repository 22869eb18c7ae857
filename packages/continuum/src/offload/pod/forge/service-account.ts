import { createHash } from "node:crypto";
import { HOME_API_ANNOTATION } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import { type Container, type Mutator, mapContainers, type PodSpec, type Volume } from "./forge-context.ts";

/** A token of the pod's own service account that a file of it is to hold. */
export interface WantedToken {
  /** Name of the Secret, in the twin namespace, that carries it. */
  readonly secret: string;
  readonly audience?: string;
  readonly expirationSeconds: number;
}

/** The ConfigMap, in a twin namespace, that holds the authority of the home API. */
export const HOME_CA_CONFIG_MAP = "fjord-home-root-ca.crt";
const ROOT_CA_CONFIG_MAP = "kube-root-ca.crt";
const DEFAULT_EXPIRATION_SECONDS = 3607;
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Whether the pod is given its service account's token for the home API, as pods at home are. */
export function usesHomeApi({ metadata }: Pod): boolean {
  return metadata.annotations?.[HOME_API_ANNOTATION] === "true";
}

/** The tokens that the pod's files are to hold at the provider. */
export function wantedTokens(pod: Pod): WantedToken[] {
  return keptVolumes(pod)
    .flatMap((volume) =>
      (volume.projected?.sources ?? []).flatMap(({ serviceAccountToken: token }) => {
        if (token === undefined) return [];
        const { audience, expirationSeconds = DEFAULT_EXPIRATION_SECONDS } = token;
        return [
          {
            secret: tokenSecretName(pod, audience, expirationSeconds),
            expirationSeconds,
            ...(audience && { audience }),
          },
        ];
      }),
    )
    .filter(({ secret }, index, all) => all.findIndex((other) => other.secret === secret) === index);
}

/** Whether the pod mounts the authority of the home API. */
export function wantsHomeAuthority(pod: Pod): boolean {
  return keptVolumes(pod).some(
    ({ configMap, projected }) =>
      configMap?.name === ROOT_CA_CONFIG_MAP ||
      projected?.sources?.some((source) => source.configMap?.name === ROOT_CA_CONFIG_MAP),
  );
}

/** Service accounts stay at home; of their tokens only those go that the pod asks for, as Secrets. */
export const leaveServiceAccount: Mutator = (template, pod, { homeApi }) => {
  const { serviceAccount: _serviceAccount, serviceAccountName: _serviceAccountName, ...spec } = template.spec;
  const kept = new Set(keptVolumes(pod).map(({ name }) => name));
  const dropped = new Set((pod.spec?.volumes ?? []).map(({ name }) => name).filter((name) => !kept.has(name)));
  const volumes = spec.volumes?.filter(({ name }) => kept.has(name)).map((volume) => homeVolume(volume, pod));
  const mounted = mapContainers(spec, (container) => {
    const without = withoutMounts(container, dropped);
    return usesHomeApi(pod) && homeApi !== undefined ? pointedHome(without, homeApi) : without;
  });
  return { ...template, spec: { ...withVolumes(mounted, volumes), automountServiceAccountToken: false } };
};

/** All but what admission mounts into every pod unasked. */
function keptVolumes(pod: Pod): Volume[] {
  const all = pod.spec?.volumes ?? [];
  if (usesHomeApi(pod)) return all;
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const elsewhere = new Set(
    [...initContainers, ...containers].flatMap(({ volumeMounts = [] }) =>
      volumeMounts.filter(({ mountPath }) => mountPath !== MOUNT_PATH).map(({ name }) => name),
    ),
  );
  return all.filter(({ name }) => !name.startsWith("kube-api-access-") || elsewhere.has(name));
}

function withoutMounts(container: Container, dropped: ReadonlySet<string>): Container {
  const { volumeMounts, ...rest } = container;
  if (volumeMounts === undefined) return container;
  const kept = volumeMounts.filter(({ name }) => !dropped.has(name));
  return kept.length === 0 ? rest : { ...rest, volumeMounts: kept };
}

function withVolumes(spec: PodSpec, volumes: Volume[] | undefined): PodSpec {
  const { volumes: _volumes, ...rest } = spec;
  return volumes === undefined || volumes.length === 0 ? rest : { ...rest, volumes };
}

function homeVolume(volume: Volume, pod: Pod): Volume {
  if (volume.configMap?.name === ROOT_CA_CONFIG_MAP) {
    return { ...volume, configMap: { ...volume.configMap, name: HOME_CA_CONFIG_MAP } };
  }
  if (volume.projected?.sources === undefined) return volume;
  const sources = volume.projected.sources.map(({ serviceAccountToken: token, ...source }) => {
    if (source.configMap?.name === ROOT_CA_CONFIG_MAP) {
      return { ...source, configMap: { ...source.configMap, name: HOME_CA_CONFIG_MAP } };
    }
    if (token === undefined) return source;
    const { audience, expirationSeconds = DEFAULT_EXPIRATION_SECONDS, path } = token;
    const name = tokenSecretName(pod, audience, expirationSeconds);
    return { ...source, secret: { name, items: [{ key: "token", path }] } };
  });
  return { ...volume, projected: { ...volume.projected, sources } };
}

/** In the home cluster these lead to the API; at the provider they would lead to the provider's. */
function pointedHome(container: Container, { host, port }: { host: string; port: string }): Container {
  const own = new Set((container.env ?? []).map(({ name }) => name));
  const wanted = {
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: port,
    KUBERNETES_SERVICE_PORT_HTTPS: port,
  };
  const added = Object.entries(wanted)
    .filter(([name]) => !own.has(name))
    .map(([name, value]) => ({ name, value }));
  return { ...container, env: [...(container.env ?? []), ...added] };
}

function tokenSecretName(pod: Pod, audience: string | undefined, seconds: number): string {
  const text = JSON.stringify([pod.metadata.uid, audience ?? "", seconds]);
  return `fjord-token-${createHash("sha256").update(text).digest("hex").slice(0, 20)}`;
}
