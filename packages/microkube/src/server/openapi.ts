import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { OpenApiAnswer, OpenApiDocuments } from "../schema/index.ts";
import { StatusError } from "../status-error.ts";
import type { ExtraHandler } from "./api-server.ts";
import type { Exchange } from "./exchange.ts";
import { isResource } from "./request-target.ts";
import { pathNotFound } from "./resource-handler.ts";

/** Answers `/openapi/v2`, `/openapi/v3` and what is below that. */
export function openApiHandler(documents: OpenApiDocuments): ExtraHandler {
  return async (exchange, target) => {
    if (isResource(target) || !target.path.startsWith("/openapi/")) return false;
    if (exchange.method !== "GET" && exchange.method !== "HEAD") throw pathNotFound();
    const path = target.path.replace(/\/$/, "");
    if (path === "/openapi/v3") {
      await exchange.sendObject(200, documents.v3Index());
      return true;
    }
    const answer = path === "/openapi/v2" ? await documents.v2() : v3(documents, path);
    if (answer === undefined) throw pathNotFound();
    await send(exchange, answer);
    return true;
  };
}

function v3(documents: OpenApiDocuments, path: string): OpenApiAnswer | undefined {
  const prefix = "/openapi/v3/";
  return path.startsWith(prefix) ? documents.v3(path.slice(prefix.length)) : undefined;
}

const unpack = promisify(gunzip);

/** As it lies in the file, where the client can unpack it. */
async function send(exchange: Exchange, { gzip, etag }: OpenApiAnswer): Promise<void> {
  const { headers } = exchange.request;
  const accept = headers.accept ?? "*/*";
  if (!/json|\*\/\*|application\/\*/.test(accept)) {
    throw new StatusError(406, "NotAcceptable", "only the following media types are accepted: application/json");
  }
  const { response } = exchange;
  response.setHeader("ETag", etag);
  response.setHeader("Vary", "Accept, Accept-Encoding");
  if (headers["if-none-match"] === etag) {
    response.writeHead(304, {});
    response.end();
    return;
  }
  const takesGzip = String(headers["accept-encoding"] ?? "").includes("gzip");
  if (takesGzip) response.setHeader("Content-Encoding", "gzip");
  exchange.send(200, "application/json", takesGzip ? gzip : await unpack(gzip));
}
