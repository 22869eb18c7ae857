import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { accessQuestion } from "./access.ts";
import { isKubeletApiError } from "./errors.ts";
import { parseLogQuery } from "./log-query.ts";
import { parseRoute } from "./route.ts";

const NOW = Date.UTC(2030, 0, 1);
const route = (target: string, method = "GET") => parseRoute({ method, target }, NOW);

test("requests of API servers are understood", () => {
  assert.deepEqual(route("/logs/fjord.log"), { kind: "ownLog" });
  assert.deepEqual(accessQuestion("GET", "/logs/fjord.log"), { verb: "get", subresources: ["log"] });
  assert.deepEqual(route("/containerLogs/ns/pod/c?follow=true&tailLines=5"), {
    kind: "logs",
    address: { namespace: "ns", pod: "pod", container: "c" },
    request: { follow: true, previous: false, timestamps: false, tailLines: 5 },
  });
  assert.deepEqual(
    route("/exec/ns/pod.a/uid-1/c?input=1&output=1&tty=1&command=sh&command=-c&command=a%20b%26", "POST"),
    {
      kind: "exec",
      address: { namespace: "ns", pod: "pod.a", container: "c", uid: "uid-1" },
      command: ["sh", "-c", "a b&"],
      wanted: { stdin: true, stdout: true, stderr: false, tty: true },
    },
  );
  assert.deepEqual(route("/attach/ns/pod/c?output=1&error=1"), {
    kind: "attach",
    address: { namespace: "ns", pod: "pod", container: "c" },
    wanted: { stdin: false, stdout: true, stderr: true, tty: false },
  });
  assert.deepEqual(route("/portForward/ns/pod/uid-1?port=80,443&port=1"), {
    kind: "portForward",
    address: { namespace: "ns", pod: "pod", uid: "uid-1" },
    ports: [80, 443, 1],
  });
  assert.deepEqual(route("/runningpods/"), { kind: "runningPods" });
  assert.deepEqual(route("/stats/summary?only_cpu_and_memory=true"), { kind: "summary", onlyCpuAndMemory: true });
});

test("with a terminal there is no separate stream of errors", () => {
  const exec = route("/exec/ns/pod/c?output=1&error=1&tty=1");
  assert.ok(exec.kind === "exec");
  assert.equal(exec.wanted.stderr, false);
});

test("any path and method either means something or is refused with a status", () => {
  fc.assert(
    fc.property(
      fc.webPath(),
      fc.webQueryParameters(),
      fc.constantFrom("GET", "POST", "DELETE", ""),
      (path, query, method) => {
        try {
          route(`${path}?${query}`, method);
        } catch (error) {
          assert.ok(isKubeletApiError(error) && error.status >= 400 && error.status < 500);
        }
      },
    ),
  );
});

test("log options are read as Kubernetes reads them", () => {
  const query = (text: string) => parseLogQuery(new URLSearchParams(text), NOW);
  assert.deepEqual(query("follow=false&previous=0&timestamps=1"), { follow: false, previous: false, timestamps: true });
  assert.equal(query("sinceSeconds=60").since, NOW - 60_000);
  assert.equal(query("sinceTime=2029-12-31T23:00:00Z").since, NOW - 3_600_000);
  assert.equal(query("stream=Stderr").stream, "stderr");
  assert.equal(query("stream=All").stream, undefined);
  assert.equal(query("tail=all").tailLines, undefined);
  assert.equal(query("tail=7").tailLines, 7);
  for (const text of [
    "tailLines=-1",
    "limitBytes=0",
    "sinceSeconds=0",
    "sinceSeconds=1&sinceTime=2029-12-31T23:00:00Z",
  ])
    assert.throws(() => query(text), { code: "KUBELET_INVALID_LOG_OPTIONS" }, text);
  for (const text of ["tailLines=x", "tailLines=1e3", "sinceTime=x", "stream=stdout", "limitBytes=99999999999999999"])
    assert.throws(() => query(text), { code: "KUBELET_INVALID_REQUEST" }, text);
});

test("rights are asked for as kubelets ask for them", () => {
  const cases: [string, string, string, string[]][] = [
    ["GET", "/stats/summary", "get", ["stats"]],
    ["GET", "/metrics/resource", "get", ["metrics"]],
    ["GET", "/pods", "get", ["pods", "proxy"]],
    ["GET", "/runningpods/", "get", ["pods", "proxy"]],
    ["GET", "/healthz/ping", "get", ["healthz", "proxy"]],
    ["GET", "/configz", "get", ["configz", "proxy"]],
    ["GET", "/containerLogs/ns/pod/c", "get", ["proxy"]],
    ["POST", "/exec/ns/pod/c", "create", ["proxy"]],
    ["GET", "/logs/x", "get", ["log"]],
    ["DELETE", "/constructor", "delete", ["proxy"]],
    ["GET", "/statsx", "get", ["proxy"]],
    ["GET", "/p%6fds", "get", ["proxy"]],
    ["GET", "", "get", ["proxy"]],
  ];
  for (const [method, path, verb, subresources] of cases)
    assert.deepEqual(accessQuestion(method, path), { verb, subresources }, path);
});
