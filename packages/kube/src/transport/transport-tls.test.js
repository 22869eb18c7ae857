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
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Authority } from "@fjord/testbed";
import { reply, testServer } from "./test-server.ts";
import { Transport } from "./transport.ts";
const get = { method: "GET", path: "/api", action: "get /api" };
const now = Date.now();
let directory;
let authority;
let server;
before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-transport-"));
    authority = await Authority.create(directory, "test authority", now);
    const request = { commonName: "api", dnsNames: ["api.internal"], addresses: ["127.0.0.1"] };
    const { certificate: cert, key } = await authority.issue(request, now);
    const tls = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
    server = await testServer((received, response) => {
        const socket = received.socket;
        const user = socket.getPeerCertificate().subject?.CN ?? "nobody";
        reply(response, 200, { user, name: socket.servername, protocol: socket.alpnProtocol });
    }, tls);
});
after(async () => {
    await server[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
});
function transportTo(tls, config = {}) {
    return new Transport({ server: server.url, namespace: "default", tls, ...config });
}
async function ask(transport) {
    const { body } = await transport.request(get);
    return JSON.parse(body.toString());
}
function client(name) {
    return authority.issue({ commonName: name, usages: ["client"] }, now);
}
test("trusts the configured authority and shows the client certificate, over HTTP/1.1", async () => {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const { certificate: cert, key } = await client("ann");
        const transport = __addDisposableResource(env_1, transportTo({ ca: authority.certificate, cert, key }), true);
        assert.deepEqual(await ask(transport), { user: "ann", name: false, protocol: "http/1.1" });
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
test("refuses a server that an unknown authority vouches for, unless told not to look", async () => {
    const env_2 = { stack: [], error: void 0, hasError: false };
    try {
        const strict = __addDisposableResource(env_2, transportTo({}), true);
        await assert.rejects(ask(strict), { name: "ConnectionError", message: /certificate/, sent: false });
        const lax = __addDisposableResource(env_2, transportTo({ insecureSkipVerify: true }), true);
        assert.equal((await ask(lax)).user, "nobody");
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
test("expects the configured server name", async () => {
    const env_3 = { stack: [], error: void 0, hasError: false };
    try {
        const right = __addDisposableResource(env_3, transportTo({ ca: authority.certificate, serverName: "api.internal" }), true);
        assert.equal((await ask(right)).name, "api.internal");
        const wrong = __addDisposableResource(env_3, transportTo({ ca: authority.certificate, serverName: "other.internal" }), true);
        await assert.rejects(ask(wrong), { name: "ConnectionError", message: /other\.internal/ });
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
test("follows a plugin's client certificate when it changes", async () => {
    const env_4 = { stack: [], error: void 0, hasError: false };
    try {
        const pairs = [await client("old"), await client("new")];
        let index = 0;
        const credentials = {
            current: async () => ({ cert: pairs[index]?.certificate, key: pairs[index]?.key }),
            rejected() { },
        };
        const transport = __addDisposableResource(env_4, transportTo({ ca: authority.certificate }, { credentials }), true);
        assert.equal((await ask(transport)).user, "old");
        assert.equal((await ask(transport)).user, "old");
        const before = server.sockets.length;
        index = 1;
        assert.equal((await ask(transport)).user, "new");
        assert.equal(server.sockets.length, before + 1);
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
test("tunnels through a proxy, with the server's certificate still checked", async () => {
    const env_5 = { stack: [], error: void 0, hasError: false };
    try {
        const asked = [];
        const proxy = __addDisposableResource(env_5, await testServer((_, response) => reply(response, 500, {})), true);
        proxy.server.on("connect", (request, socket) => {
            asked.push(request.url);
            const far = connect(server.port, "127.0.0.1", () => {
                socket.write("HTTP/1.1 200 OK\r\n\r\n");
                socket.pipe(far).pipe(socket);
            });
        });
        const ca = authority.certificate;
        const transport = __addDisposableResource(env_5, transportTo({ ca }, { server: "https://api.internal:6443", proxy: proxy.url }), true);
        assert.equal((await ask(transport)).name, "api.internal");
        const { stream } = await transport.stream(get);
        assert.match((await stream?.next())?.value?.toString() ?? "", /api.internal/);
        await stream?.return();
        assert.deepEqual(asked, ["api.internal:6443", "api.internal:6443"]);
        const wrong = __addDisposableResource(env_5, transportTo({ ca }, { server: "https://other.internal:6443", proxy: proxy.url }), true);
        await assert.rejects(ask(wrong), { name: "ConnectionError" });
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
