import { ConnectionError, type KubeClient } from "@fjord/kube";

const writes = new Set<string | symbol>(["create", "update", "updateStatus", "patch", "apply", "delete"]);
const reads = new Set<string | symbol>(["get", "list"]);

export interface MortalClient {
  readonly client: KubeClient;
  /** Resolves at the death. */
  readonly died: Promise<void>;
  readonly isDead: () => boolean;
}

/** A client whose process dies right after its nth write: the write happens, the answer is lost, nothing follows. */
export function mortalClient(client: KubeClient, lastWrite: number): MortalClient {
  const death = Promise.withResolvers<void>();
  let left = lastWrite;
  const dead = () => left <= 0;
  const gone = (action: string) =>
    new ConnectionError({ action, server: "the API", reason: "the process died", sent: true });
  const proxy = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...given: unknown[]) => Promise<unknown>;
      if (!writes.has(name) && !reads.has(name)) return method;
      return async (...given: unknown[]) => {
        if (dead()) throw gone(String(name));
        if (reads.has(name) || isEvent(given[0])) return await method(...given);
        const isLast = --left === 0;
        if (!isLast) return await method(...given);
        await method(...given).finally(() => death.resolve());
        throw gone(String(name));
      };
    },
  });
  return { client: proxy, died: death.promise, isDead: dead };
}

function isEvent(kind: unknown): boolean {
  return (kind as { kind?: string } | undefined)?.kind === "Event";
}
