/** For tests of the page in a browser: the server, an API to stand behind it, and objects to show. */
export * from "./model/test-world.ts";
export { PageServer } from "./page-server.ts";
export { type ApiCall, TestPageApi } from "./test-page-api.ts";
