import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
/** A local HTTP(S) server for a test, which sees each request whole before it answers. */
export async function testServer(answer, tls) {
    const requests = [];
    const sockets = [];
    const listener = (message, response) => {
        let body = "";
        message.setEncoding("utf8").on("data", (text) => {
            body += text;
        });
        message.on("end", () => {
            const { method = "", url = "", headers, rawHeaders, socket } = message;
            const received = { method, url, headers, rawHeaders, body, socket };
            requests.push(received);
            answer(received, response, requests.length - 1);
        });
    };
    const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    server.on(tls === undefined ? "connection" : "secureConnection", (socket) => sockets.push(socket));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address();
    return {
        url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
        port,
        server,
        requests,
        sockets,
        async [Symbol.asyncDispose]() {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
        },
    };
}
/** Answers with JSON. */
export function reply(response, status, value, headers = {}) {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}
/** Waits for something that another part of the test brings about. */
export async function until(condition, ms = 5000) {
    const end = Date.now() + ms;
    while (!condition()) {
        if (Date.now() > end)
            throw new Error(`not so after ${ms} ms: ${condition}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
}
