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
import { test } from "node:test";
import { Deployment, defineKind, Namespace, Pod } from "../kinds/index.ts";
import { reply, testServer, until } from "../transport/test-server.ts";
import { ApiError, isGone, isTooManyRequests } from "./api-error.ts";
import { KubeClient } from "./client.ts";
async function setUp(answer, options = {}) {
    const server = await testServer(answer);
    const client = new KubeClient({ server: server.url, namespace: "home", tls: {} }, options);
    return {
        server,
        client,
        async [Symbol.asyncDispose]() {
            await client.close();
            await server[Symbol.asyncDispose]();
        },
    };
}
const web = { namespace: "default", name: "web" };
const pod = (name) => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });
/** What one watch gave, and what ended it. */
async function watched(events) {
    const seen = [];
    try {
        for await (const event of events)
            seen.push(event);
        return { events: seen };
    }
    catch (error) {
        return { events: seen, error };
    }
}
function lines(response, ...events) {
    for (const event of events)
        response.write(`${JSON.stringify(event)}\n`);
}
function sent(server) {
    return server.requests.map(({ method, url }) => `${method} ${url}`);
}
test("looks in the configured namespace where none is given, and only for kinds that have one", async () => {
    const env_1 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_1, await setUp((_, response) => reply(response, 200, pod("web"))), true);
        await t.client.get(Pod, { name: "web" });
        await t.client.get(Pod, web);
        await t.client.get(Namespace, { name: "web" });
        await t.client.create(Pod, pod("web"));
        assert.deepEqual(sent(t.server), [
            "GET /api/v1/namespaces/home/pods/web",
            "GET /api/v1/namespaces/default/pods/web",
            "GET /api/v1/namespaces/web",
            "POST /api/v1/namespaces/home/pods",
        ]);
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
test("fills in the types that a server leaves out of a list, and keeps those it gives", async () => {
    const env_2 = { stack: [], error: void 0, hasError: false };
    try {
        const items = [{ metadata: { name: "a" } }, { apiVersion: "v0", kind: "Other", metadata: { name: "b" } }];
        const t = __addDisposableResource(env_2, await setUp((request, response) => reply(response, 200, request.url.includes("empty") ? {} : { items })), true);
        const list = await t.client.list(Pod, { labelSelector: "app=web", limit: 5 });
        assert.deepEqual(list.items.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`), ["v1 Pod", "v0 Other"]);
        assert.deepEqual((await t.client.list(Pod, { namespace: "empty" })).items, []);
        assert.equal(t.server.requests[0]?.url, "/api/v1/pods?labelSelector=app%3Dweb&limit=5");
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
test("says so when the answer is not JSON", async () => {
    const env_3 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_3, await setUp((_, response) => void response.writeHead(200).end("<html>welcome</html>")), true);
        await assert.rejects(t.client.get(Pod, web), { name: "ConnectionError", message: /not JSON/ });
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
test("reads all pages, and goes on from the server's new token when the old one expired", async () => {
    const env_4 = { stack: [], error: void 0, hasError: false };
    try {
        const page = (names, next) => ({
            metadata: { resourceVersion: "7", continue: next },
            items: names.map((name) => ({ metadata: { name } })),
        });
        const t = __addDisposableResource(env_4, await setUp((request, response) => {
            const token = new URL(request.url, "http://x").searchParams.get("continue");
            if (token === null)
                reply(response, 200, page(["a", "b"], "one"));
            else if (token === "one") {
                reply(response, 410, { kind: "Status", reason: "Expired", code: 410, metadata: { continue: "two" } });
            }
            else
                reply(response, 200, page(["c"]));
        }), true);
        const names = [];
        for await (const { items } of t.client.listAll(Pod, { limit: 2, resourceVersion: "5" })) {
            names.push(...items.map(({ metadata }) => metadata.name));
        }
        assert.deepEqual(names, ["a", "b", "c"]);
        assert.deepEqual(sent(t.server), [
            "GET /api/v1/pods?resourceVersion=5&limit=2",
            "GET /api/v1/pods?limit=2&continue=one",
            "GET /api/v1/pods?limit=2&continue=two",
        ]);
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
test("throws an expired page where the server offers no way on", async () => {
    const env_5 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_5, await setUp((_, response) => reply(response, 410, { kind: "Status", reason: "Expired" })), true);
        await assert.rejects(async () => {
            for await (const _ of t.client.listAll(Pod))
                assert.fail("no page was expected");
        }, isGone);
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
test("watches with bookmarks until the server closes", async () => {
    const env_6 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_6, await setUp((_, response) => {
            lines(response, { type: "ADDED", object: pod("a") }, { type: "MODIFIED", object: pod("🚢".repeat(50000)) });
            lines(response, { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } });
            response.end();
        }), true);
        const { events, error } = await watched(t.client.watch(Pod, { namespace: "default", resourceVersion: "5" }));
        assert.equal(error, undefined);
        assert.deepEqual(events.map(({ type }) => type), ["ADDED", "MODIFIED", "BOOKMARK"]);
        assert.deepEqual(events[1]?.object, pod("🚢".repeat(50000)));
        assert.deepEqual(sent(t.server), [
            "GET /api/v1/namespaces/default/pods?watch=true&resourceVersion=5&allowWatchBookmarks=true",
        ]);
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
test("throws an ERROR event of a watch, after the events before it", async () => {
    const env_7 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_7, await setUp((_, response) => {
            lines(response, { type: "ADDED", object: pod("a") });
            lines(response, { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } });
            response.end();
        }), true);
        const { events, error } = await watched(t.client.watch(Pod));
        assert.equal(events.length, 1);
        assert.ok(isGone(error));
        assert.equal(error.message, "cannot watch Pod: too old (410 Expired)");
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
test("throws the refusal of a watch", async () => {
    const env_8 = { stack: [], error: void 0, hasError: false };
    try {
        const status = { kind: "Status", reason: "Forbidden", message: "not you", code: 403 };
        const t = __addDisposableResource(env_8, await setUp((_, response) => reply(response, 403, status)), true);
        const { error } = await watched(t.client.watch(Pod));
        assert.ok(error instanceof ApiError);
        assert.equal(error.statusCode, 403);
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
test("a watch that breaks, or ends within an event, fails with a connection error", async () => {
    const ways = [
        (response) => response.write('{"type":"ADD', () => response.socket?.resetAndDestroy()),
        (response) => response.end('{"type":"ADD'),
        (response) => response.end("{broken}\n"),
        (response) => response.socket?.destroy(),
    ];
    for (const way of ways) {
        const env_9 = { stack: [], error: void 0, hasError: false };
        try {
            const t = __addDisposableResource(env_9, await setUp((_, response) => {
                lines(response, { type: "ADDED", object: pod("a") });
                way(response);
            }), true);
            const { error } = await watched(t.client.watch(Pod));
            assert.equal(error.name, "ConnectionError", String(way));
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
    }
});
test("a watch fails when its peer falls silent, before or after the answer begins", async () => {
    for (const speaks of [false, true]) {
        const env_10 = { stack: [], error: void 0, hasError: false };
        try {
            const t = __addDisposableResource(env_10, await setUp((_, response) => {
                if (speaks)
                    lines(response, { type: "ADDED", object: pod("a") });
            }), true);
            const { events, error } = await watched(t.client.watch(Pod, { idleTimeoutMs: 50 }));
            assert.equal(events.length, speaks ? 1 : 0);
            assert.equal(error.name, "ConnectionError");
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
    }
});
test("leaving a watch ends its connection", async () => {
    const env_11 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_11, await setUp((_, response) => lines(response, { type: "ADDED", object: pod("a") })), true);
        for await (const event of t.client.watch(Pod)) {
            assert.equal(event.type, "ADDED");
            break;
        }
        await until(() => t.server.sockets[0]?.destroyed === true);
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
test("sends each kind of patch under its own type", async () => {
    const env_12 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_12, await setUp((_, response) => reply(response, 200, pod("web"))), true);
        await t.client.patch(Pod, web, "json", [{ op: "remove", path: "/spec" }], { dryRun: true });
        await t.client.patch(Pod, web, "merge", {}, { subresource: "status", fieldManager: "me" });
        await t.client.patch(Pod, web, "strategic", {});
        await t.client.apply(Pod, { metadata: web, spec: { nodeName: "n" } }, { fieldManager: "me", force: true });
        assert.deepEqual(t.server.requests.map(({ url, headers }) => `${headers["content-type"]} ${url}`), [
            "application/json-patch+json /api/v1/namespaces/default/pods/web?dryRun=All",
            "application/merge-patch+json /api/v1/namespaces/default/pods/web/status?fieldManager=me",
            "application/strategic-merge-patch+json /api/v1/namespaces/default/pods/web",
            "application/apply-patch+yaml /api/v1/namespaces/default/pods/web?fieldManager=me&force=true",
        ]);
        assert.deepEqual(JSON.parse(t.server.requests[3]?.body ?? ""), {
            apiVersion: "v1",
            kind: "Pod",
            metadata: web,
            spec: { nodeName: "n" },
        });
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
test("takes a refused eviction for an answer and does not ask again", async () => {
    const env_13 = { stack: [], error: void 0, hasError: false };
    try {
        const status = { kind: "Status", reason: "TooManyRequests", message: "budget", code: 429 };
        const t = __addDisposableResource(env_13, await setUp((_, response) => reply(response, 429, status, { "retry-after": "10" })), true);
        await assert.rejects(t.client.evict(web, { gracePeriodSeconds: 5 }), (error) => {
            assert.ok(isTooManyRequests(error));
            assert.equal(error.details.retryAfterSeconds, 10);
            return true;
        });
        assert.equal(t.server.requests.length, 1);
        assert.equal(JSON.parse(t.server.requests[0]?.body ?? "").deleteOptions.gracePeriodSeconds, 5);
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
test("streams a log as it is written", async () => {
    const env_14 = { stack: [], error: void 0, hasError: false };
    try {
        let response;
        const t = __addDisposableResource(env_14, await setUp((_, answer) => {
            response = answer.writeHead(200);
            answer.write("one\n");
        }), true);
        const log = t.client.log(web, { follow: true, container: "main", tailLines: 3, timestamps: true });
        assert.equal((await log.next()).value?.toString(), "one\n");
        response?.write("two\n");
        assert.equal((await log.next()).value?.toString(), "two\n");
        response?.end();
        assert.equal((await log.next()).done, true);
        assert.deepEqual(sent(t.server), [
            "GET /api/v1/namespaces/default/pods/web/log?follow=true&container=main&tailLines=3&timestamps=true",
        ]);
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
test("passes the server's warnings on", async () => {
    const env_15 = { stack: [], error: void 0, hasError: false };
    try {
        const warnings = [];
        const onWarning = (text, action) => warnings.push(`${action}: ${text}`);
        const warning = '299 - "v1beta1 is \\"old\\"", 299 - "unknown field"';
        const t = __addDisposableResource(env_15, await setUp((_, response) => reply(response, 200, pod("web"), { warning }), { onWarning }), true);
        await t.client.get(Pod, web);
        assert.deepEqual(warnings, ['get Pod default/web: v1beta1 is "old"', "get Pod default/web: unknown field"]);
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
test("impersonates over the same connections", async () => {
    const env_16 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_16, await setUp((_, response) => reply(response, 200, pod("web"))), true);
        await t.client.get(Pod, web);
        const ann = t.client.impersonating({ user: "ann", groups: ["a", "b"] });
        await ann.get(Pod, web);
        assert.equal(t.server.requests[0]?.headers["impersonate-user"], undefined);
        assert.equal(t.server.requests[1]?.headers["impersonate-user"], "ann");
        assert.equal(t.server.requests[1]?.headers["impersonate-group"], "a, b");
        assert.equal(ann.transport, t.client.transport);
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
test("types follow the kind", async () => {
    const env_17 = { stack: [], error: void 0, hasError: false };
    try {
        const t = __addDisposableResource(env_17, await setUp((_, response) => reply(response, 200, pod("web"))), true);
        const boats = defineKind("example.com/v1", "Boat", "boats");
        const boat = await t.client.get(boats, web);
        const anything = boat.spec;
        const typed = await t.client.get(Pod, web);
        const phase = typed.status?.phase;
        assert.deepEqual([anything, phase], [undefined, undefined]);
        // @ts-expect-error a Pod is no Deployment
        await t.client.create(Deployment, pod("web"));
        // @ts-expect-error containers are a list
        await t.client.create(Pod, { ...pod("web"), spec: { containers: "none" } });
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
