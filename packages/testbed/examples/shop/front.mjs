// The shop's front end: a page, made with what the API says, wherever that runs.
import { createServer } from "node:http";

const { POD_IP = "127.0.0.1", POD_NAME = "front", NODE_NAME = "", API_SERVICE_HOST, API_SERVICE_PORT } = process.env;
if (API_SERVICE_HOST === undefined) {
  console.error("the Service api is not known here yet");
  process.exit(1);
}
const host = API_SERVICE_HOST.includes(":") ? `[${API_SERVICE_HOST}]` : API_SERVICE_HOST;
const api = `http://${host}:${API_SERVICE_PORT}`;

const server = createServer(async (request, response) => {
  if (request.url === "/healthz") return void response.end("ok\n");
  try {
    const answer = await fetch(`${api}/offers`, { signal: AbortSignal.timeout(3_000) });
    const { offers, served } = await answer.json();
    const body = { front: POD_NAME, node: NODE_NAME, api: served, offers };
    response.setHeader("content-type", "application/json");
    response.end(`${JSON.stringify(body)}\n`);
  } catch (error) {
    response.statusCode = 502;
    response.end(`the API does not answer: ${error.cause?.message ?? error.message}\n`);
  }
});
server.listen(8080, POD_IP, () => console.log(`${POD_NAME} serves at ${POD_IP}:8080, with the API at ${api}`));
process.on("SIGTERM", () => server.close(() => process.exit(0)));
