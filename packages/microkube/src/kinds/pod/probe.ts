import type { IHTTPGetAction } from "kubernetes-models/v1/HTTPGetAction";
import type { ILifecycle } from "kubernetes-models/v1/Lifecycle";
import type { IProbe } from "kubernetes-models/v1/Probe";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { headerFieldName } from "../values/name.ts";
import { nonNegative } from "../values/number.ts";
import { validatePortNumberOrName } from "../values/port.ts";

interface Handler {
  exec?: { command?: string[] };
  httpGet?: Draft<IHTTPGetAction>;
  tcpSocket?: { port?: number | string };
  grpc?: { port?: number };
  sleep?: { seconds?: number };
}

type Probe = Draft<IProbe>;

export function validateProbes(
  container: { livenessProbe?: Probe; readinessProbe?: Probe; startupProbe?: Probe },
  gracePeriod: number | undefined,
  path: string,
): FieldError[] {
  const { livenessProbe, readinessProbe, startupProbe } = container;
  const errors: FieldError[] = [];
  if (livenessProbe) errors.push(...validateOnce(livenessProbe, gracePeriod, `${path}.livenessProbe`));
  if (readinessProbe) {
    const at = `${path}.readinessProbe`;
    errors.push(...validateProbe(readinessProbe, gracePeriod, at));
    const period = readinessProbe.terminationGracePeriodSeconds;
    if (period !== undefined) {
      const text = "must not be set for readinessProbes";
      errors.push(invalidField(`${at}.terminationGracePeriodSeconds`, period, text));
    }
  }
  if (startupProbe) errors.push(...validateOnce(startupProbe, gracePeriod, `${path}.startupProbe`));
  return errors;
}

function validateOnce(probe: Probe, gracePeriod: number | undefined, path: string): FieldError[] {
  const errors = validateProbe(probe, gracePeriod, path);
  if (probe.successThreshold !== 1) {
    errors.push(invalidField(`${path}.successThreshold`, probe.successThreshold ?? 0, "must be 1"));
  }
  return errors;
}

function validateProbe(probe: Probe, gracePeriod: number | undefined, path: string): FieldError[] {
  const errors = validateHandler(probe as Handler, gracePeriod, path, probeHandlers);
  for (const field of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ] as const) {
    errors.push(...nonNegative(probe[field], `${path}.${field}`));
  }
  const period = probe.terminationGracePeriodSeconds;
  if (period !== undefined && period <= 0) {
    errors.push(invalidField(`${path}.terminationGracePeriodSeconds`, period, "must be greater than 0"));
  }
  return errors;
}

const probeHandlers = ["exec", "httpGet", "tcpSocket", "grpc"] as const;
const lifecycleHandlers = ["exec", "httpGet", "tcpSocket", "sleep"] as const;

export function validateLifecycle(
  lifecycle: Draft<ILifecycle>,
  gracePeriod: number | undefined,
  os: string | undefined,
  path: string,
): FieldError[] {
  const { postStart, preStop, stopSignal } = lifecycle;
  const errors: FieldError[] = [];
  if (postStart) {
    errors.push(...validateHandler(postStart as Handler, gracePeriod, `${path}.postStart`, lifecycleHandlers));
  }
  if (preStop) errors.push(...validateHandler(preStop as Handler, gracePeriod, `${path}.preStop`, lifecycleHandlers));
  if (stopSignal && os === undefined) {
    errors.push(forbiddenField(`${path}.stopSignal`, "may not be set for containers with empty `spec.os.name`"));
  }
  return errors;
}

function validateHandler(
  handler: Handler,
  gracePeriod: number | undefined,
  path: string,
  kinds: readonly (keyof Handler)[],
): FieldError[] {
  const set = kinds.filter((kind) => handler[kind] !== undefined);
  const first = set[0];
  if (first === undefined) return [required(path, "must specify a handler type")];
  return [
    ...validateAction(handler, first, gracePeriod, `${path}.${first}`),
    ...set.slice(1).map((kind) => forbiddenField(`${path}.${kind}`, "may not specify more than 1 handler type")),
  ];
}

function validateAction(
  handler: Handler,
  kind: keyof Handler,
  gracePeriod: number | undefined,
  path: string,
): FieldError[] {
  if (kind === "exec") return (handler.exec?.command ?? []).length === 0 ? [required(`${path}.command`)] : [];
  if (kind === "httpGet") return validateHttpGet(handler.httpGet ?? {}, path);
  if (kind === "tcpSocket") return validatePortNumberOrName(handler.tcpSocket?.port, `${path}.port`);
  if (kind === "grpc") return validatePortNumberOrName(handler.grpc?.port, `${path}.port`);
  const seconds = handler.sleep?.seconds ?? 0;
  if (gracePeriod === undefined || (seconds >= 0 && seconds <= gracePeriod)) return [];
  const text = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`;
  return [invalidField(path, seconds, text)];
}

const schemes = ["HTTP", "HTTPS"];

function validateHttpGet({ path: url, port, scheme, httpHeaders }: Draft<IHTTPGetAction>, path: string): FieldError[] {
  const errors: FieldError[] = url ? [] : [required(`${path}.path`)];
  errors.push(...validatePortNumberOrName(port, `${path}.port`));
  if (!schemes.includes(scheme ?? "")) errors.push(notSupported(`${path}.scheme`, scheme ?? "", schemes));
  for (const { name = "" } of httpHeaders ?? []) {
    errors.push(...headerFieldName(name).map((text) => invalidField(`${path}.httpHeaders`, name, text)));
  }
  return errors;
}
