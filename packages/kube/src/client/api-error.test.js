import assert from "node:assert/strict";
import { test } from "node:test";
import * as errors from "./api-error.ts";
import { apiErrorFromBody } from "./api-error.ts";
const notFound = {
    kind: "Status",
    status: "Failure",
    message: 'pods "web" not found',
    reason: "NotFound",
    details: { name: "web", kind: "pods" },
    code: 404,
};
function refusal(statusCode, reason, details = {}) {
    const status = { kind: "Status", reason, message: "no", details };
    return apiErrorFromBody("get Pod default/web", statusCode, JSON.stringify(status));
}
test("says what was attempted on what, and the server's words", () => {
    const error = apiErrorFromBody("get Pod default/web", 404, JSON.stringify(notFound));
    assert.equal(error.message, 'cannot get Pod default/web: pods "web" not found (404 NotFound)');
    assert.equal(error.code, "KUBE_API");
    assert.equal(error.reason, "NotFound");
    assert.deepEqual(error.details, { name: "web", kind: "pods" });
});
test("keeps the causes and takes the time to wait from the body before the header", () => {
    const causes = [{ reason: "FieldValueInvalid", message: "too small", field: "spec.replicas" }];
    const error = refusal(422, "Invalid", { causes });
    assert.deepEqual(error.details.causes, causes);
    const body = JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 3 } });
    assert.equal(apiErrorFromBody("get x", 429, body, 9).details.retryAfterSeconds, 3);
    assert.equal(apiErrorFromBody("get x", 429, "busy", 9).details.retryAfterSeconds, 9);
});
test("makes one line of what a proxy answers", () => {
    const html = "<html><head><title>502</title></head><body>\n<h1>Bad Gateway</h1><p>no upstream</p></body></html>";
    assert.equal(apiErrorFromBody("list Pod", 502, html).message, "cannot list Pod: Bad Gateway no upstream (502)");
    assert.equal(apiErrorFromBody("list Pod", 503, "").message, "cannot list Pod: no message (503)");
    assert.equal(apiErrorFromBody("list Pod", 500, "{broken").message, "cannot list Pod: {broken (500)");
    assert.equal(apiErrorFromBody("list Pod", 500, '{"error":"x"}').reason, "");
    assert.ok(apiErrorFromBody("list Pod", 500, "x".repeat(10000)).message.length < 400);
});
test("is told apart by reason", () => {
    const cases = [
        ["isNotFound", refusal(404, "NotFound", { name: "web" })],
        ["isConflict", refusal(409, "Conflict")],
        ["isAlreadyExists", refusal(409, "AlreadyExists")],
        ["isGone", refusal(410, "Expired")],
        ["isGone", refusal(410, "Gone")],
        ["isForbidden", refusal(403, "Forbidden")],
        ["isUnauthorized", refusal(401, "Unauthorized")],
        ["isInvalid", refusal(422, "Invalid")],
        ["isTooManyRequests", refusal(429, "TooManyRequests")],
        ["isTimeout", refusal(504, "Timeout")],
        ["isTimeout", refusal(500, "ServerTimeout")],
        ["isUnavailable", refusal(503, "ServiceUnavailable")],
    ];
    const predicates = Object.entries(errors).filter(([name]) => name.startsWith("is"));
    assert.ok(predicates.length > 10);
    for (const [expected, error] of cases) {
        for (const [name, predicate] of predicates)
            assert.equal(predicate(error), name === expected, `${name} ${error}`);
    }
    for (const [, predicate] of predicates)
        assert.equal(predicate(new Error("x")), false);
});
test("falls back on the status code where nobody gave a reason", () => {
    assert.equal(errors.isNotFound(apiErrorFromBody("get Boat", 404, "404 page not found")), true);
    assert.equal(errors.isNotServed(apiErrorFromBody("get Boat", 404, "404 page not found")), true);
    assert.equal(errors.isNotServed(apiErrorFromBody("get Pod", 404, JSON.stringify(notFound))), false);
    assert.equal(errors.isForbidden(apiErrorFromBody("get Pod", 403, "denied by proxy")), true);
    assert.equal(errors.isConflict(apiErrorFromBody("update Pod", 409, "?")), false);
});
