// The shop's API: keeps what the worker finds out, and counts who asks.
import { createServer } from "node:http";

const { POD_IP = "127.0.0.1", POD_NAME = "api" } = process.env;
let offers = [];
let served = 0;

const server = createServer(async (request, response) => {
  if (request.url === "/healthz") return void response.end("ok\n");
  if (request.method === "PUT") {
    const chunks = await Array.fromAsync(request);
    offers = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return void response.end();
  }
  served += 1;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ offers, served: { by: POD_NAME, requests: served } }));
});
server.listen(8080, POD_IP, () => console.log(`${POD_NAME} serves at ${POD_IP}:8080`));
process.on("SIGTERM", () => process.exit(0));
