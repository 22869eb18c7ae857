import { defaultCapabilities } from "@fjord/kube";
import {
  type Container,
  containersOf,
  named,
  namesWhere,
  type PodCheck,
  quoted,
  setters,
  sortedSet,
} from "./violation.ts";

const APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/";

export const appArmorProfile: PodCheck = ({ annotations = {} }, spec) => {
  const isBad = (type: string | undefined) => type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
  const podType = spec.securityContext?.appArmorProfile?.type;
  const typeOf = (container: Container) => container.securityContext?.appArmorProfile?.type;
  const bad = containersOf(spec).filter((container) => isBad(typeOf(container)));
  const types = sortedSet([podType, ...bad.map(typeOf)].filter((type) => type !== undefined).filter(isBad));
  const isAllowed = (value: string) => value === "" || value === "runtime/default" || value.startsWith("localhost/");
  const forbidden = Object.entries(annotations)
    .filter(([key, value]) => key.startsWith(APP_ARMOR) && !isAllowed(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const all = setters(
    isBad(podType),
    bad.map(({ name }) => name),
  );
  if (forbidden.length > 0) all.push(forbidden.length === 1 ? "annotation" : "annotations");
  if (all.length === 0) return undefined;
  const values = [...types, ...forbidden];
  return {
    reason: values.length === 1 ? "forbidden AppArmor profile" : "forbidden AppArmor profiles",
    detail: `${all.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

export const capabilitiesBaseline: PodCheck = (_, spec) => {
  const strange = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((one) => !defaultCapabilities.includes(one));
  const bad = containersOf(spec).filter((container) => strange(container).length > 0);
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => name);
  const added = quoted(sortedSet(bad.flatMap(strange)));
  return {
    reason: "non-default capabilities",
    detail: `${named("container", names)} must not include ${added} in securityContext.capabilities.add`,
  };
};

export const hostNamespaces: PodCheck = (_, spec) => {
  const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => spec[name] === true);
  if (shared.length === 0) return undefined;
  return { reason: "host namespaces", detail: shared.map((name) => `${name}=true`).join(", ") };
};

export const hostPathVolumes: PodCheck = (_, { volumes = [] }) => {
  const bad = volumes.filter(({ hostPath }) => hostPath).map(({ name }) => name);
  return bad.length === 0 ? undefined : { reason: "hostPath volumes", detail: named("volume", bad) };
};

export const hostPorts: PodCheck = (_, spec) => {
  const portsOf = ({ ports = [] }: Container) => ports.filter(({ hostPort }) => hostPort).map((port) => port.hostPort);
  const bad = containersOf(spec).filter((container) => portsOf(container).length > 0);
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => name);
  const ports = sortedSet(bad.flatMap(portsOf).map(String));
  const use = `${names.length === 1 ? "uses" : "use"} ${ports.length === 1 ? "hostPort" : "hostPorts"}`;
  return { reason: "hostPort", detail: `${named("container", names)} ${use} ${ports.join(", ")}` };
};

export const hostProbesAndLifecycle: PodCheck = (_, spec) => {
  const hostsOf = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
    [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
      .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
      .filter((host) => host !== undefined && host !== "") as string[];
  const bad = containersOf(spec).filter((container) => hostsOf(container).length > 0);
  if (bad.length === 0) return undefined;
  const names = sortedSet(bad.map(({ name }) => name));
  const hosts = sortedSet(bad.flatMap(hostsOf));
  const use = `${names.length === 1 ? "uses" : "use"} ${named("probe or lifecycle host", hosts)}`;
  return { reason: "probe or lifecycle host", detail: `${named("container", names)} ${use}` };
};

export const privileged: PodCheck = (_, spec) => {
  const bad = namesWhere(spec, ({ securityContext }) => securityContext?.privileged === true);
  if (bad.length === 0) return undefined;
  return { reason: "privileged", detail: `${named("container", bad)} must not set securityContext.privileged=true` };
};

export const procMount: PodCheck = (_, spec) => {
  const isBad = ({ securityContext }: Container) => (securityContext?.procMount ?? "Default") !== "Default";
  const bad = containersOf(spec).filter(isBad);
  if (bad.length === 0) return undefined;
  const names = bad.map(({ name }) => name);
  const types = quoted(sortedSet(bad.map(({ securityContext }) => securityContext?.procMount ?? "")));
  return {
    reason: "procMount",
    detail: `${named("container", names)} must not set securityContext.procMount to ${types}`,
  };
};

export const seLinuxOptions =
  (allowed: readonly string[]): PodCheck =>
  (_, spec) => {
    type Options = { type?: string; user?: string; role?: string } | undefined;
    const isBad = (options: Options) =>
      options !== undefined &&
      (!allowed.includes(options.type ?? "") || Boolean(options.user) || Boolean(options.role));
    const podOptions = spec.securityContext?.seLinuxOptions as Options;
    const optionsOf = (container: Container) => container.securityContext?.seLinuxOptions as Options;
    const bad = containersOf(spec).filter((container) => isBad(optionsOf(container)));
    const all = setters(
      isBad(podOptions),
      bad.map(({ name }) => name),
    );
    if (all.length === 0) return undefined;
    const used = [podOptions, ...bad.map(optionsOf)].filter((options) => options !== undefined);
    const types = sortedSet(used.map(({ type = "" }) => type).filter((type) => !allowed.includes(type)));
    const data = [
      ...(types.length > 0 ? [named("type", types)] : []),
      ...(used.some(({ user }) => user) ? ["user may not be set"] : []),
      ...(used.some(({ role }) => role) ? ["role may not be set"] : []),
    ];
    const detail = `${all.join(" and ")} set forbidden securityContext.seLinuxOptions: ${data.join("; ")}`;
    return { reason: "seLinuxOptions", detail };
  };

const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/";

/** Before there was a field for it. */
export const seccompAnnotations: PodCheck = ({ annotations = {} }, spec) => {
  const isGood = (value: string) =>
    value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/");
  const keys = [SECCOMP_POD, ...containersOf(spec).map(({ name }) => SECCOMP_CONTAINER + name)];
  const forbidden = sortedSet(
    keys.flatMap((key) => {
      const value = annotations[key];
      return value === undefined || isGood(value) ? [] : [`${key}=${JSON.stringify(value)}`];
    }),
  );
  if (forbidden.length === 0) return undefined;
  const word = forbidden.length === 1 ? "annotation" : "annotations";
  return { reason: "seccompProfile", detail: `forbidden ${word} ${forbidden.join(", ")}` };
};

export const isGoodSeccomp = (type: string | undefined) => type === "Localhost" || type === "RuntimeDefault";

export const seccompBaseline: PodCheck = (_, spec) => {
  const podType = spec.securityContext?.seccompProfile?.type;
  const typeOf = ({ securityContext }: Container) => securityContext?.seccompProfile?.type;
  const isBad = (type: string | undefined) => type !== undefined && !isGoodSeccomp(type);
  const bad = containersOf(spec).filter((container) => isBad(typeOf(container)));
  const all = setters(
    isBad(podType),
    bad.map(({ name }) => name),
  );
  if (all.length === 0) return undefined;
  const values = sortedSet([podType, ...bad.map(typeOf)].filter(isBad) as string[]);
  const detail = `${all.join(" and ")} must not set securityContext.seccompProfile.type to ${quoted(values)}`;
  return { reason: "seccompProfile", detail };
};

export const sysctls =
  (allowed: readonly string[]): PodCheck =>
  (_, spec) => {
    const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name);
    const bad = names.filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: "forbidden sysctls", detail: bad.join(", ") };
  };

export const windowsHostProcess: PodCheck = (_, spec) => {
  const bad = namesWhere(spec, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true);
  const all = setters(spec.securityContext?.windowsOptions?.hostProcess === true, bad);
  if (all.length === 0) return undefined;
  const detail = `${all.join(" and ")} must not set securityContext.windowsOptions.hostProcess=true`;
  return { reason: "hostProcess", detail };
};
