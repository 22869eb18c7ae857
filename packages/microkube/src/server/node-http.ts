/**
 * `node:http`, without an import: that looks at all that a built-in module exports, and a look at its `WebSocket` loads a
 * whole client, which takes time at each start and memory ever after.
 */
export const http = process.getBuiltinModule("node:http");
