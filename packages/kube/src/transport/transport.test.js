var __addDisposableResource = (this && this.__addDisposableResource) || function (env, value, async) {
    if (value !== null && value !== void 0) {
        if (typeof value !== "object" && typeof value !== "function") throw new TypeError("Object expected.");
        var dispose, inner;
        if (async) {
            if (!Symbol.asyncDispose) throw new TypeError("Symbol.asyncDispose is not defined.");
            dispose = value[Symbol.asyncDispose];
        }
        if (dispose === void 0) {
            if (!Symbol.dispose) throw new TypeError("Symbol.dispose is not defined.");
            dispose = value[Symbol.dispose];
            if (async) inner = dispose;
        }
        if (typeof dispose !== "function") throw new TypeError("Object not disposable.");
        if (inner) dispose = function() { try { inner.call(this); } catch (e) { return Promise.reject(e); } };
        env.stack.push({ value: value, dispose: dispose, async: async });
    }
    else if (async) {
        env.stack.push({ async: true });
    }
    return value;
};
var __disposeResources = (this && this.__disposeResources) || (function (SuppressedError) {
    return function (env) {
        function fail(e) {
            env.error = env.hasError ? new SuppressedError(e, env.error, "An error was suppressed during disposal.") : e;
            env.hasError = true;
        }
        var r, s = 0;
        function next() {
            while (r = env.stack.pop()) {
                try {
                    if (!r.async && s === 1) return s = 0, env.stack.push(r), Promise.resolve().then(next);
                    if (r.dispose) {
                        var result = r.dispose.call(r.value);
                        if (r.async) return s |= 2, Promise.resolve(result).then(next, function(e) { fail(e); return next(); });
                    }
                    else s |= 1;
                }
                catch (e) {
                    fail(e);
                }
            }
            if (s === 1) return env.hasError ? Promise.reject(env.error) : Promise.resolve();
            if (env.hasError) throw env.error;
        }
        return next();
    };
})(typeof SuppressedError === "function" ? SuppressedError : function (error, suppressed, message) {
    var e = new Error(message);
    return e.name = "SuppressedError", e.error = error, e.suppressed = suppressed, e;
});
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ManualClock } from "@fjord/base/testing";
import { Agent } from "undici";
import { ConnectionError } from "./errors.ts";
import { reply, testServer, until } from "./test-server.ts";
import { Transport } from "./transport.ts";
const get = { method: "GET", path: "/api/v1/pods?limit=1", action: "list Pod" };
const post = { method: "POST", path: "/api/v1/pods", action: "create Pod", body: "{}" };
function transportTo(server, config = {}, options = {}) {
    return new Transport({ server, namespace: "default", tls: {}, ...config }, options);
}
test("keeps the path of the base URL and sends the configured headers", async () => {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_1, await testServer((_, response) => reply(response, 200, {})), true);
        const headers = { "Impersonate-User": "ann" };
        const transport = __addDisposableResource(env_1, transportTo(`${server.url}/clusters/one/`, { headers }, { userAgent: "test/1" }), true);
        const response = await transport.request({ ...get, headers: { "Impersonate-Group": ["a", "b"] } });
        assert.equal(response.statusCode, 200);
        const [request] = server.requests;
        assert.equal(request?.url, "/clusters/one/api/v1/pods?limit=1");
        assert.equal(request?.headers["impersonate-user"], "ann");
        assert.equal(request?.headers["user-agent"], "test/1");
        assert.equal(request?.rawHeaders.filter((name) => name.toLowerCase() === "impersonate-group").length, 2);
    }
    catch (e_1) {
        env_1.error = e_1;
        env_1.hasError = true;
    }
    finally {
        const result_1 = __disposeResources(env_1);
        if (result_1)
            await result_1;
    }
});
test("refuses a server that is not an HTTP URL", () => {
    for (const server of ["", "kubernetes:6443", "ftp://example.com"]) {
        assert.throws(() => transportTo(server), { code: "KUBE_INVALID_SERVER_URL" });
    }
});
test("asks for the credential with each request", async () => {
    const env_2 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_2, await testServer((_, response) => reply(response, 200, {})), true);
        let count = 0;
        const credentials = { current: async () => ({ authorization: `Bearer ${++count}` }), rejected() { } };
        const transport = __addDisposableResource(env_2, transportTo(server.url, { credentials }), true);
        await transport.request(get);
        await transport.request(get);
        assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), ["Bearer 1", "Bearer 2"]);
    }
    catch (e_2) {
        env_2.error = e_2;
        env_2.hasError = true;
    }
    finally {
        const result_2 = __disposeResources(env_2);
        if (result_2)
            await result_2;
    }
});
test("reports a rejected credential and tries once more, even for writes", async () => {
    const env_3 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_3, await testServer((request, response) => reply(response, request.headers.authorization === "Bearer new" ? 201 : 401, {})), true);
        let token = "old";
        const credentials = {
            current: async () => ({ authorization: `Bearer ${token}` }),
            rejected() {
                token = "new";
            },
        };
        const transport = __addDisposableResource(env_3, transportTo(server.url, { credentials }), true);
        assert.equal((await transport.request(post)).statusCode, 201);
        assert.equal(server.requests.length, 2);
    }
    catch (e_3) {
        env_3.error = e_3;
        env_3.hasError = true;
    }
    finally {
        const result_3 = __disposeResources(env_3);
        if (result_3)
            await result_3;
    }
});
test("gives up on a credential that is rejected twice", async () => {
    const env_4 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_4, await testServer((_, response) => reply(response, 401, {})), true);
        let rejections = 0;
        const credentials = { current: async () => ({ authorization: "Bearer x" }), rejected: () => void rejections++ };
        const transport = __addDisposableResource(env_4, transportTo(server.url, { credentials }), true);
        assert.equal((await transport.request(get)).statusCode, 401);
        assert.equal(server.requests.length, 2);
        assert.equal(rejections, 1);
    }
    catch (e_4) {
        env_4.error = e_4;
        env_4.hasError = true;
    }
    finally {
        const result_4 = __disposeResources(env_4);
        if (result_4)
            await result_4;
    }
});
test("waits for as long as a 429 says, for writes too", async () => {
    const env_5 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_5, await testServer((_, response, index) => reply(response, index < 2 ? 429 : 201, {}, index < 2 ? { "retry-after": "3" } : {})), true);
        const clock = new ManualClock();
        const transport = __addDisposableResource(env_5, transportTo(server.url, {}, { clock }), true);
        const response = transport.request(post);
        await until(() => clock.pending === 1);
        await clock.advance(2900);
        assert.equal(server.requests.length, 1);
        await clock.advance(100);
        await until(() => server.requests.length === 2 && clock.pending === 1);
        await clock.advance(3000);
        assert.equal((await response).statusCode, 201);
    }
    catch (e_5) {
        env_5.error = e_5;
        env_5.hasError = true;
    }
    finally {
        const result_5 = __disposeResources(env_5);
        if (result_5)
            await result_5;
    }
});
test("hands a 429 over once its waiting would exceed the budget", async () => {
    const env_6 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_6, await testServer((_, response) => reply(response, 429, {}, { "retry-after": "20" })), true);
        const clock = new ManualClock();
        const transport = __addDisposableResource(env_6, transportTo(server.url, {}, { clock, tooManyRequestsBudgetMs: 30000 }), true);
        const response = transport.request(get);
        await until(() => clock.pending === 1);
        await clock.advance(20000);
        assert.equal((await response).statusCode, 429);
        assert.equal(server.requests.length, 2);
    }
    catch (e_6) {
        env_6.error = e_6;
        env_6.hasError = true;
    }
    finally {
        const result_6 = __disposeResources(env_6);
        if (result_6)
            await result_6;
    }
});
test("stops waiting for a 429 when the signal aborts", async () => {
    const env_7 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_7, await testServer((_, response) => reply(response, 429, {}, { "retry-after": "20" })), true);
        const clock = new ManualClock();
        const transport = __addDisposableResource(env_7, transportTo(server.url, {}, { clock }), true);
        const stop = new AbortController();
        const response = transport.request({ ...get, signal: stop.signal });
        await until(() => clock.pending === 1);
        stop.abort(new Error("enough"));
        await assert.rejects(response, /enough/);
    }
    catch (e_7) {
        env_7.error = e_7;
        env_7.hasError = true;
    }
    finally {
        const result_7 = __disposeResources(env_7);
        if (result_7)
            await result_7;
    }
});
test("repeats a read whose connection was reset, before or within the answer", async () => {
    const env_8 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_8, await testServer((request, response, index) => {
            if (index === 0)
                request.socket.resetAndDestroy();
            else if (index === 1)
                response.writeHead(200, { "content-length": "100" }).write("{", () => request.socket.destroy());
            else
                reply(response, 200, { whole: true });
        }), true);
        const transport = __addDisposableResource(env_8, transportTo(server.url), true);
        assert.equal((await transport.request(get)).body.toString(), '{"whole":true}');
    }
    catch (e_8) {
        env_8.error = e_8;
        env_8.hasError = true;
    }
    finally {
        const result_8 = __disposeResources(env_8);
        if (result_8)
            await result_8;
    }
});
test("never repeats a write whose outcome is unknown", async () => {
    const env_9 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_9, await testServer((request) => void request.socket.resetAndDestroy()), true);
        const transport = __addDisposableResource(env_9, transportTo(server.url), true);
        await assert.rejects(transport.request(post), (error) => {
            assert.ok(error instanceof ConnectionError);
            assert.equal(error.code, "KUBE_CONNECTION");
            assert.equal(error.sent, true);
            assert.match(error.message, /cannot create Pod at http:\/\/127\.0\.0\.1:\d+: /);
            return true;
        });
        assert.equal(server.requests.length, 1);
    }
    catch (e_9) {
        env_9.error = e_9;
        env_9.hasError = true;
    }
    finally {
        const result_9 = __disposeResources(env_9);
        if (result_9)
            await result_9;
    }
});
test("says that a request was not sent when nobody listens", async () => {
    const env_10 = { stack: [], error: void 0, hasError: false };
    try {
        const gone = await testServer(() => { });
        await gone[Symbol.asyncDispose]();
        const transport = __addDisposableResource(env_10, transportTo(gone.url), true);
        await assert.rejects(transport.request(post), (error) => {
            assert.ok(error instanceof ConnectionError);
            assert.equal(error.sent, false);
            assert.match(error.message, /ECONNREFUSED/);
            return true;
        });
    }
    catch (e_10) {
        env_10.error = e_10;
        env_10.hasError = true;
    }
    finally {
        const result_10 = __disposeResources(env_10);
        if (result_10)
            await result_10;
    }
});
test("fails a request that is never answered", async () => {
    const env_11 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_11, await testServer(() => { }), true);
        const transport = __addDisposableResource(env_11, transportTo(server.url, {}, { headersTimeoutMs: 50 }), true);
        await assert.rejects(transport.request(get), { name: "ConnectionError", message: /Timeout/ });
    }
    catch (e_11) {
        env_11.error = e_11;
        env_11.hasError = true;
    }
    finally {
        const result_11 = __disposeResources(env_11);
        if (result_11)
            await result_11;
    }
});
test("aborts a request under way, and one that has not begun", async () => {
    const env_12 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_12, await testServer(() => { }), true);
        const transport = __addDisposableResource(env_12, transportTo(server.url), true);
        const stop = new AbortController();
        const response = transport.request({ ...get, signal: stop.signal });
        await until(() => server.requests.length === 1);
        stop.abort();
        await assert.rejects(response, { name: "AbortError" });
        await assert.rejects(transport.request({ ...get, signal: stop.signal }), { name: "AbortError" });
        assert.equal(server.requests.length, 1);
        await until(() => server.sockets.every(({ destroyed }) => destroyed));
    }
    catch (e_12) {
        env_12.error = e_12;
        env_12.hasError = true;
    }
    finally {
        const result_12 = __disposeResources(env_12);
        if (result_12)
            await result_12;
    }
});
test("gives each stream a connection of its own, so that requests still pass", async () => {
    const env_13 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_13, await testServer((request, response) => {
            if (request.url.includes("watch"))
                response.writeHead(200).write("x");
            else
                reply(response, 200, {});
        }), true);
        const transport = __addDisposableResource(env_13, transportTo(server.url, {}, { connections: 1 }), true);
        const streams = await Promise.all([1, 2, 3].map((n) => transport.stream({ ...get, path: `/watch/${n}`, action: "watch Pod" })));
        assert.equal((await transport.request(get)).statusCode, 200);
        assert.equal(server.sockets.length, 4);
        for (const { stream } of streams)
            assert.equal((await stream?.next())?.value?.toString(), "x");
        for (const { stream } of streams)
            await stream?.return();
        await until(() => server.sockets.filter(({ destroyed }) => destroyed).length === 3);
    }
    catch (e_13) {
        env_13.error = e_13;
        env_13.hasError = true;
    }
    finally {
        const result_13 = __disposeResources(env_13);
        if (result_13)
            await result_13;
    }
});
test("close lets requests end, cuts streams and refuses what comes later", async () => {
    const env_14 = { stack: [], error: void 0, hasError: false };
    try {
        let finish = () => { };
        const server = __addDisposableResource(env_14, await testServer((request, response) => {
            if (request.url.includes("watch"))
                response.writeHead(200).write("x");
            else
                finish = () => reply(response, 200, { done: true });
        }), true);
        const transport = transportTo(server.url);
        const { stream } = await transport.stream({ ...get, path: "/watch", action: "watch Pod" });
        assert.equal((await stream?.next())?.value?.toString(), "x");
        const read = stream?.next();
        const response = transport.request(get);
        await until(() => server.requests.length === 2);
        const closed = transport.close();
        await assert.rejects(read ?? Promise.resolve(), { code: "KUBE_TRANSPORT_CLOSED" });
        finish();
        assert.equal((await response).body.toString(), '{"done":true}');
        await closed;
        await assert.rejects(transport.request(get), { code: "KUBE_TRANSPORT_CLOSED" });
    }
    catch (e_14) {
        env_14.error = e_14;
        env_14.hasError = true;
    }
    finally {
        const result_14 = __disposeResources(env_14);
        if (result_14)
            await result_14;
    }
});
test("goes through an injected dispatcher, and leaves it open", async () => {
    const env_15 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_15, await testServer((_, response) => reply(response, 200, {})), true);
        // Stands for a tunnel: whatever the host, it leads to the test's server.
        const dispatcher = new Agent({
            connect: (_, callback) => {
                const socket = connect(server.port, "127.0.0.1");
                socket.once("connect", () => callback(null, socket));
            },
        });
        const transport = transportTo("http://far.example", {}, { dispatcher });
        assert.equal((await transport.request(get)).statusCode, 200);
        const { stream } = await transport.stream(get);
        assert.equal((await stream?.next())?.value?.toString(), "{}");
        await transport.close();
        assert.equal(server.requests[0]?.headers.host, "far.example");
        assert.equal(dispatcher.closed, false);
        await dispatcher.close();
    }
    catch (e_15) {
        env_15.error = e_15;
        env_15.hasError = true;
    }
    finally {
        const result_15 = __disposeResources(env_15);
        if (result_15)
            await result_15;
    }
});
test("goes through an HTTP proxy", async () => {
    const env_16 = { stack: [], error: void 0, hasError: false };
    try {
        const proxy = __addDisposableResource(env_16, await testServer((_, response) => reply(response, 200, { forwarded: true })), true);
        const transport = __addDisposableResource(env_16, transportTo("http://far.example", { proxy: proxy.url }), true);
        assert.equal((await transport.request(get)).body.toString(), '{"forwarded":true}');
        assert.equal(proxy.requests[0]?.url, "http://far.example/api/v1/pods?limit=1");
    }
    catch (e_16) {
        env_16.error = e_16;
        env_16.hasError = true;
    }
    finally {
        const result_16 = __disposeResources(env_16);
        if (result_16)
            await result_16;
    }
});
test("a silent stream fails after its idle timeout", async () => {
    const env_17 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_17, await testServer((_, response) => void response.writeHead(200).write("x")), true);
        const clock = new ManualClock();
        const transport = __addDisposableResource(env_17, transportTo(server.url, {}, { clock }), true);
        const { stream } = await transport.stream({ ...get, idleTimeoutMs: 10000 });
        await stream?.next();
        const silent = stream?.next() ?? Promise.resolve();
        const failed = assert.rejects(silent, { name: "ConnectionError", message: /nothing arrived for 10 s/ });
        await clock.advance(20000);
        await failed;
        await until(() => server.sockets[0]?.destroyed === true);
    }
    catch (e_17) {
        env_17.error = e_17;
        env_17.hasError = true;
    }
    finally {
        const result_17 = __disposeResources(env_17);
        if (result_17)
            await result_17;
    }
});
test("reads compressed answers, and asks for none when told so", async () => {
    const env_18 = { stack: [], error: void 0, hasError: false };
    try {
        const body = gzipSync(JSON.stringify({ text: "x".repeat(100000) }));
        const server = __addDisposableResource(env_18, await testServer((request, response) => {
            const zipped = request.headers["accept-encoding"] === "gzip";
            const whole = request.method === "GET" ? body : body.subarray(0, body.length / 2);
            response.writeHead(200, zipped ? { "content-encoding": "gzip" } : {}).end(zipped ? whole : "{}");
        }), true);
        const plain = __addDisposableResource(env_18, transportTo(server.url, {}, { compress: false }), true);
        assert.equal((await plain.request(get)).body.toString(), "{}");
        const transport = __addDisposableResource(env_18, transportTo(server.url), true);
        assert.equal(JSON.parse((await transport.request(get)).body.toString()).text.length, 100000);
        await assert.rejects(transport.request(post), { name: "ConnectionError", message: /unexpected end of file/ });
    }
    catch (e_18) {
        env_18.error = e_18;
        env_18.hasError = true;
    }
    finally {
        const result_18 = __disposeResources(env_18);
        if (result_18)
            await result_18;
    }
});
test("an aborted signal ends a stream with its reason", async () => {
    const env_19 = { stack: [], error: void 0, hasError: false };
    try {
        const server = __addDisposableResource(env_19, await testServer((_, response) => void response.writeHead(200).write("x")), true);
        const transport = __addDisposableResource(env_19, transportTo(server.url), true);
        const stop = new AbortController();
        const { stream } = await transport.stream({ ...get, signal: stop.signal });
        await stream?.next();
        const next = stream?.next() ?? Promise.resolve();
        stop.abort(new Error("enough"));
        await assert.rejects(next, /enough/);
        const [socket] = server.sockets;
        if (!socket?.destroyed)
            await once(socket, "close");
    }
    catch (e_19) {
        env_19.error = e_19;
        env_19.hasError = true;
    }
    finally {
        const result_19 = __disposeResources(env_19);
        if (result_19)
            await result_19;
    }
});
