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
    if (path === "/openapi/v2" && isBinaryWanted(exchange)) {
      await send(exchange, await documents.v2Protobuf(), BINARY);
      return true;
    }
    const answer = path === "/openapi/v2" ? await documents.v2() : v3(documents, path);
    if (answer === undefined) throw pathNotFound();
    mustTakeJson(exchange);
    await send(exchange, answer, "application/json");
    return true;
  };
}

function v3(documents: OpenApiDocuments, path: string): OpenApiAnswer | undefined {
  const prefix = "/openapi/v3/";
  return path.startsWith(prefix) ? documents.v3(path.slice(prefix.length)) : undefined;
}

const BINARY = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Whether a client takes the binary form, by either of its names, and would rather have it than JSON. */
function isBinaryWanted({ request }: Exchange): boolean {
  const [first] = (request.headers.accept ?? "").split(/[,;]/, 1);
  return first === BINARY || first === BINARY.replace("v2.v1.0", "v2@v1.0");
}

function mustTakeJson({ request }: Exchange): void {
  if (/json|\*\/\*|application\/\*/.test(request.headers.accept ?? "*/*")) return;
  throw new StatusError(406, "NotAcceptable", "only the following media types are accepted: application/json");
}

const unpack = promisify(gunzip);

/** As it lies in the file, where the client can unpack it. */
async function send(exchange: Exchange, { gzip, etag }: OpenApiAnswer, type: string): Promise<void> {
  const { headers } = exchange.request;
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
  exchange.send(200, type, takesGzip ? gzip : await unpack(gzip));
}
