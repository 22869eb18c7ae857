/** Where a socket of this machine is. */
export interface Place {
  readonly address: string;
  readonly port: number;
}

/** A connection, or datagrams, between two sockets of this machine. */
export interface LocalConnection {
  readonly protocol: "TCP" | "UDP";
  /** Who has begun it. */
  readonly client: Place;
  readonly server: Place;
}

/** A pod of this machine. */
export interface LocalPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent for one on the network of the machine. */
  readonly address?: string;
}

/** A process that a pod's processes descend from, by the word of whoever has started it. */
export interface PodProcess {
  readonly pid: number;
  readonly pod: LocalPod;
}

export function keyOf({ protocol, client, server }: LocalConnection): string {
  return `${protocol} ${client.address} ${client.port} ${server.address} ${server.port}`;
}
