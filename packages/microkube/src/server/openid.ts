import type { ServiceAccountTokens } from "../authentication/index.ts";
import type { ExtraHandler } from "./api-server.ts";
import { isResource } from "./request-target.ts";

/** Answers what others need to check service accounts' tokens: where the keys are, and the keys. */
export function openIdHandler(
  tokens: Pick<ServiceAccountTokens, "openIdConfiguration" | "webKeys">,
  address: () => string,
): ExtraHandler {
  return (exchange, target) => {
    if (isResource(target) || (exchange.method !== "GET" && exchange.method !== "HEAD")) return false;
    const answer = (type: string, value: unknown) => {
      const headers = { "Content-Type": type, "Cache-Control": "public, max-age=3600" };
      const body = JSON.stringify(value);
      exchange.response.writeHead(200, { ...headers, "Content-Length": Buffer.byteLength(body) });
      exchange.response.end(exchange.method === "HEAD" ? undefined : body);
      return true;
    };
    if (target.path === "/.well-known/openid-configuration") {
      return answer("application/json", tokens.openIdConfiguration(`https://${address()}`));
    }
    if (target.path === "/openid/v1/jwks") return answer("application/jwk-set+json", tokens.webKeys);
    return false;
  };
}
