import { REDACTED, redactText } from "./redact-text.ts";

type Fields = Record<string, unknown>;

/** What a PodSpec says about where and how it may run. All else of it is its owner's. */
const POD_FIELDS = fields(
  "activeDeadlineSeconds affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostIPC hostNetwork hostPID hostUsers hostname nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints imagePullSecrets",
);
const CONTAINER_FIELDS = fields(
  "image imagePullPolicy name ports resizePolicy resources restartPolicy securityContext stdin stdinOnce targetContainerName terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir envFrom",
);
const PROBE_FIELDS = fields(
  "failureThreshold grpc initialDelaySeconds periodSeconds successThreshold tcpSocket terminationGracePeriodSeconds timeoutSeconds sleep",
);
/** Volumes that name other objects, and say nothing of their contents. Of others only their kind is kept. */
const PLAIN_VOLUMES = fields(
  "configMap downwardAPI emptyDir ephemeral hostPath image persistentVolumeClaim projected secret",
);

function fields(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}

export function isPodSpec(value: Fields): boolean {
  return Array.isArray(value.containers);
}

/** A PodSpec with what decides its place: what it runs, is told and is given stays with its owner. */
export function redactPodSpec(spec: Fields, others: (value: unknown, field: string) => unknown): Fields {
  return mapFields(spec, (value, name) => {
    if (name === "containers" || name === "initContainers" || name === "ephemeralContainers")
      return each(value, (container) => redactContainer(container, others));
    if (name === "volumes") return each(value, (volume) => redactVolume(volume, others));
    return POD_FIELDS.has(name) ? others(value, name) : REDACTED;
  });
}

function redactContainer(container: Fields, others: (value: unknown, field: string) => unknown): Fields {
  return mapFields(container, (value, name) => {
    if (name === "env") return each(value, redactVariable);
    if (/^(?:liveness|readiness|startup)Probe$/.test(name))
      return whole(value, (probe) => redactHandler(probe, others));
    if (name === "lifecycle")
      return whole(value, (hooks) =>
        mapFields(hooks, (hook) => whole(hook, (handler) => redactHandler(handler, others))),
      );
    return CONTAINER_FIELDS.has(name) ? others(value, name) : REDACTED;
  });
}

function redactVariable({ value, ...others }: Fields): Fields {
  return { ...others, ...(value !== undefined && { value: REDACTED }) };
}

/** A probe or a hook. */
function redactHandler(handler: Fields, others: (value: unknown, field: string) => unknown): Fields {
  return mapFields(handler, (value, name) => {
    if (name === "httpGet") return whole(value, redactRequest);
    return PROBE_FIELDS.has(name) ? others(value, name) : REDACTED;
  });
}

function redactRequest(request: Fields): Fields {
  return mapFields(request, (value, name) => {
    if (name === "path") return redactPath(String(value));
    if (name === "httpHeaders") return each(value, (header) => ({ name: header.name, value: REDACTED }));
    return name === "port" || name === "scheme" ? value : redactText(String(value));
  });
}

function redactPath(path: string): string {
  const query = path.search(/[?#]/);
  return query === -1 ? redactText(path) : `${redactText(path.slice(0, query))}?${REDACTED}`;
}

function redactVolume(volume: Fields, others: (value: unknown, field: string) => unknown): Fields {
  return mapFields(volume, (value, name) => {
    if (name === "name" || PLAIN_VOLUMES.has(name)) return others(value, name);
    if (name === "csi") return whole(value, redactCsi);
    return REDACTED;
  });
}

function redactCsi(csi: Fields): Fields {
  return mapFields(csi, (value, name) => {
    if (name === "volumeAttributes") return whole(value, (attributes) => mapFields(attributes, () => REDACTED));
    return /^(?:driver|readOnly|fsType|nodePublishSecretRef)$/.test(name) ? value : REDACTED;
  });
}

function mapFields(value: Fields, change: (value: unknown, name: string) => unknown): Fields {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, change(one, name)]])),
  );
}

function each(value: unknown, change: (value: Fields) => Fields): unknown {
  return Array.isArray(value) ? value.map((one) => whole(one, change)) : REDACTED;
}

function whole(value: unknown, change: (value: Fields) => Fields): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? change(value as Fields) : REDACTED;
}
