import { createRequire } from "node:module";

type Undici = typeof import("undici");

/**
 * The parts of undici that a direct connection needs. Its main module loads fetch, caches, WebSockets and mocks too: 13 MB
 * resident in every process that talks to a cluster (docs/decisions/0005). The version is pinned, and the tests load them.
 */
export function undiciParts(): Pick<Undici, "Client" | "Pool" | "buildConnector"> {
  return {
    Client: part("dispatcher/client"),
    Pool: part("dispatcher/pool"),
    buildConnector: part("core/connect"),
  };
}

const require = createRequire(import.meta.url);

function part<T>(name: string): T {
  return require(`undici/lib/${name}.js`) as T;
}
