import type { NetworkPolicy, Pod } from "@fjord/kube";

type Port = NonNullable<NonNullable<NonNullable<NetworkPolicy["spec"]>["egress"]>[number]["ports"]>[number];

/** The ports of a rule with what their names mean in one pod; those that it has no port of that name for are left out. */
export function portsAt(pod: Pod, ports: readonly Port[]): Port[] {
  return ports.flatMap((port) => {
    const name: unknown = port.port;
    if (typeof name !== "string" || /^\d+$/.test(name)) return [port];
    const declared = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
    return declared
      .filter((each) => each.name === name && (each.protocol ?? "TCP") === (port.protocol ?? "TCP"))
      .map(({ containerPort }) => ({ ...port, port: containerPort }));
  });
}
