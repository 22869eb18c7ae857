import type { IContainerPort } from "kubernetes-models/v1/ContainerPort";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { portName, portNumber } from "../values/port.ts";

export const protocols = ["SCTP", "TCP", "UDP"];
type Port = Draft<IContainerPort>;

export function validateContainerPorts(ports: readonly Port[] | undefined, path: string): FieldError[] {
  const names = new Set<string>();
  return (ports ?? []).flatMap((port, i) => {
    const at = `${path}[${i}]`;
    const errors: FieldError[] = [];
    const { name, containerPort = 0, hostPort = 0, protocol = "" } = port;
    if (name) {
      const texts = portName(name);
      errors.push(...texts.map((text) => invalidField(`${at}.name`, name, text)));
      if (texts.length === 0 && names.has(name)) errors.push(duplicate(`${at}.name`, name));
      if (texts.length === 0) names.add(name);
    }
    if (containerPort === 0) errors.push(required(`${at}.containerPort`));
    else errors.push(...validateNumber(containerPort, `${at}.containerPort`));
    if (hostPort !== 0) errors.push(...validateNumber(hostPort, `${at}.hostPort`));
    return [...errors, ...validateProtocol(protocol, `${at}.protocol`)];
  });
}

export function validateProtocol(protocol: string | undefined, path: string): FieldError[] {
  if (!protocol) return [required(path)];
  return protocols.includes(protocol) ? [] : [notSupported(path, protocol, protocols)];
}

function validateNumber(port: number, path: string): FieldError[] {
  return portNumber(port).map((text) => invalidField(path, port, text));
}

/** A port of the node can be had once per protocol and address. */
export function validateHostPorts(containers: readonly ({ ports?: Port[] } | undefined)[], path: string): FieldError[] {
  const taken = new Set<string>();
  return containers.flatMap((container, i) =>
    (container?.ports ?? []).flatMap(({ protocol = "", hostIP = "", hostPort = 0 }, j) => {
      if (hostPort === 0) return [];
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) return [duplicate(`${path}[${i}].ports[${j}].hostPort`, key)];
      taken.add(key);
      return [];
    }),
  );
}
