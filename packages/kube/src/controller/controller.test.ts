import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeObject, type Logger, silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { Cache } from "../cache/cache.ts";
import { ConfigMap, Secret } from "../kinds/core.ts";
import { Controller, type ControllerOptions } from "./controller.ts";
import { generationChanged } from "./predicates.ts";
import { formatRequest } from "./request.ts";
import { againAfter, done, terminal } from "./result.ts";
import { owns, watches } from "./source.ts";
import { TestApi } from "./test-api.ts";
import { TestSource } from "./test-source.ts";

const configMap = (name: string, metadata: Partial<KubeObject["metadata"]> = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", ...metadata },
});

function start(options: Partial<ControllerOptions> & Pick<ControllerOptions, "sources" | "reconcile">) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const abandon = new AbortController();
  const controller = new Controller({
    name: "test",
    clock,
    random: () => 0,
    logger: silentLogger,
    backoff: { initial: 100, jitter: 0 },
    ...options,
  });
  return { clock, stop, abandon, controller, run: controller.run(stop.signal, abandon.signal) };
}

describe("Controller", () => {
  test("reconciles what is there, then what changes, by name alone", async () => {
    const seen: string[] = [];
    const source = new TestSource([configMap("a")]);
    const reconcile: ControllerOptions["reconcile"] = async (request) => {
      seen.push(formatRequest(request));
      return done();
    };
    const { clock, stop, run } = start({ sources: [watches(source)], reconcile });
    await clock.advance(0);
    assert.deepEqual(seen, ["default/a"]);
    source.set(configMap("b"));
    source.set(configMap("a"));
    await clock.advance(0);
    source.remove(configMap("b"));
    await clock.advance(0);
    assert.deepEqual(seen.slice(1).sort(), ["default/a", "default/b", "default/b"]);
    stop.abort();
    await run;
    assert.equal(source.handlers.size, 0, "no longer listens");
  });

  test("begins only when all its sources are in sync", async () => {
    const late = new TestSource<ConfigMap>([], { synced: false });
    let calls = 0;
    const reconcile = async () => {
      calls++;
      return done();
    };
    const { clock, stop, run } = start({
      sources: [watches(new TestSource([configMap("a")])), watches(late)],
      reconcile,
    });
    await clock.advance(1000);
    assert.equal(calls, 0);
    late.sync();
    await clock.advance(0);
    assert.equal(calls, 1);
    stop.abort();
    await run;
  });

  test("gives up with a reason when a source does not sync in time", async () => {
    const late = new TestSource<ConfigMap>([], { synced: false });
    const { clock, run } = start({ sources: [watches(late)], reconcile: async () => done(), syncTimeoutMs: 5000 });
    const refused = assert.rejects(run, {
      code: "KUBE_SOURCE_NOT_SYNCED",
      message: "controller test gave up after 5 s waiting for what it watches: the list was refused",
    });
    await clock.advance(5000);
    await refused;
  });

  test("tries again with growing delays while it throws, and afresh after a success", async () => {
    const at: number[] = [];
    let failing = true;
    const source = new TestSource([configMap("a")]);
    const reconcile: ControllerOptions["reconcile"] = async (_, { failures }) => {
      at.push(clock.now());
      if (failing) throw new Error(`failed after ${failures}`);
      return done();
    };
    const { clock, stop, run } = start({ sources: [watches(source)], reconcile });
    const began = clock.now();
    await clock.advance(750);
    assert.deepEqual(
      at.map((time) => time - began),
      [0, 100, 300, 700],
    );
    failing = false;
    await clock.advance(800);
    failing = true;
    at.length = 0;
    const again = clock.now();
    source.set(configMap("a"));
    await clock.advance(100);
    assert.deepEqual(
      at.map((time) => time - again),
      [0, 100],
    );
    stop.abort();
    await run;
  });

  test("looks again after the time that a reconciler asks for, and never after a terminal error", async () => {
    const calls: string[] = [];
    const errors: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (message, fields) => errors.push([message, fields?.error]) };
    const source = new TestSource([configMap("again"), configMap("broken")]);
    const { clock, stop, run } = start({
      sources: [watches(source)],
      logger,
      reconcile: async ({ name }) => {
        calls.push(name);
        return name === "again" ? againAfter(1000) : terminal(new Error("spec makes no sense"));
      },
    });
    await clock.advance(2999);
    assert.deepEqual(calls, ["again", "broken", "again", "again"]);
    assert.deepEqual(errors, [["reconciling failed for good", "spec makes no sense"]]);
    stop.abort();
    await run;
  });

  test("takes what is no result as a failure, with growing delays", async () => {
    for (const nonsense of [
      undefined,
      null,
      {},
      "done",
      againAfter(Number.NaN),
      againAfter("5" as unknown as number),
    ]) {
      const at: number[] = [];
      const warnings: unknown[] = [];
      const { clock, stop, run } = start({
        sources: [watches(new TestSource([configMap("a")]))],
        logger: { ...silentLogger, warn: (_, fields) => warnings.push(fields?.error) },
        reconcile: async () => {
          at.push(clock.now());
          return nonsense as ReturnType<typeof done>;
        },
      });
      const began = clock.now();
      await clock.advance(750);
      assert.deepEqual(
        at.map((time) => time - began),
        [0, 100, 300, 700],
      );
      assert.match(String(warnings[0]), /for default\/a, which is no result$/);
      stop.abort();
      await run;
    }
  });

  test("goes on whatever is thrown, even what cannot be described", async () => {
    const fail = () => {
      throw new Error("evil");
    };
    const traps = Object.fromEntries(Reflect.ownKeys(Reflect).map((trap) => [trap, fail]));
    const noStack = Object.defineProperty(new Error("no stack"), "stack", { get: fail });
    const thrown = [
      undefined,
      null,
      Symbol("x"),
      Object.create(null),
      { toString: fail },
      new Proxy({}, traps),
      noStack,
    ];
    let calls = 0;
    const { clock, stop, run } = start({
      sources: [watches(new TestSource([configMap("a")]))],
      backoff: { initial: 100, max: 100, jitter: 0 },
      reconcile: async () => {
        if (calls < thrown.length) throw thrown[calls++];
        calls++;
        return done();
      },
    });
    await clock.advance(100 * thrown.length);
    assert.equal(calls, thrown.length + 1);
    stop.abort();
    await run;
  });

  test("lets timers run while reconcilers without I/O ask for themselves again at once", async () => {
    for (const ask of ["result 0", "result -1", "enqueue"]) {
      let calls = 0;
      const stop = new AbortController();
      const controller: Controller = new Controller({
        name: "busy",
        sources: [],
        clock: systemClock,
        random: () => 0,
        logger: silentLogger,
        reconcile: async (request) => {
          // Far more than can be done before the timer, so that a test that fails does end.
          if (++calls > 1e6) return done();
          if (ask !== "enqueue") return againAfter(Number(ask.slice(7)));
          controller.enqueue(request);
          return done();
        },
      });
      const run = controller.run(stop.signal);
      controller.enqueue({ name: "a" });
      // On a machine with other work the first timer may come before the second call.
      const timer = setInterval(() => calls > 1 && stop.abort(), 20);
      await run;
      clearInterval(timer);
      assert.ok(calls > 1 && calls < 1e6, `${ask}: ${calls} calls`);
    }
  });

  test("says so while work goes on after its time, and goes on when it ends", async () => {
    const stuck = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    const { clock, stop, run } = start({
      sources: [watches(new TestSource([configMap("a")]))],
      timeoutMs: 1000,
      logger: { ...silentLogger, error: (message, fields) => errors.push([message, fields?.overrunMs]) },
      reconcile: async () => {
        await stuck.promise;
        return done();
      },
    });
    await clock.advance(3000);
    const line = "a reconciliation ignores its signal, and keeps a worker";
    assert.deepEqual(errors, [
      [line, 1000],
      [line, 2000],
    ]);
    stuck.resolve();
    await clock.advance(5000);
    assert.equal(errors.length, 2);
    stop.abort();
    await run;
  });

  test("works on as many objects at once as it may, and on each once at a time", async () => {
    let most = 0;
    const active = new Map<string, number>();
    const finish: (() => void)[] = [];
    const source = new TestSource(["a", "b", "c", "d"].map((name) => configMap(name)));
    const { clock, stop, run } = start({
      sources: [watches(source)],
      concurrency: 3,
      reconcile: async ({ name }) => {
        active.set(name, (active.get(name) ?? 0) + 1);
        most = Math.max(most, active.size);
        assert.equal(active.get(name), 1, `${name} twice at once`);
        await new Promise<void>((resolve) => finish.push(resolve));
        active.delete(name);
        return done();
      },
    });
    await clock.advance(0);
    for (let turn = 0; turn < 10; turn++) {
      source.set(configMap("a"));
      finish.shift()?.();
      await clock.advance(0);
    }
    assert.equal(most, 3);
    stop.abort();
    for (const each of finish) each();
    await run;
  });

  test("a stop lets work in hand finish, and begins nothing new", async () => {
    const calls: string[] = [];
    const work = Promise.withResolvers<void>();
    const { clock, stop, run } = start({
      sources: [watches(new TestSource([configMap("a"), configMap("b")]))],
      reconcile: async ({ name }, { signal }) => {
        calls.push(`begin ${name}`);
        await work.promise;
        calls.push(`end ${name} ${signal.aborted}`);
        return done();
      },
    });
    await clock.advance(0);
    stop.abort();
    await clock.advance(0);
    work.resolve();
    await run;
    assert.deepEqual(calls, ["begin a", "end a false"]);
  });

  test("abandoning reaches the work in hand, which is not counted as failed", async () => {
    const warnings: string[] = [];
    const { clock, stop, abandon, run } = start({
      sources: [watches(new TestSource([configMap("a")]))],
      logger: { ...silentLogger, warn: (message) => warnings.push(message) },
      reconcile: async (_, { signal }) => {
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        return done();
      },
    });
    await clock.advance(0);
    stop.abort();
    abandon.abort();
    await run;
    assert.deepEqual(warnings, []);
  });

  test("a reconciliation that takes too long sees its signal abort, and is tried again", async () => {
    const reasons: string[] = [];
    const { clock, stop, run } = start({
      sources: [watches(new TestSource([configMap("a")]))],
      timeoutMs: 3000,
      reconcile: async (_, { signal }) => {
        await new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.message);
            reject(signal.reason);
          }),
        );
        return done();
      },
    });
    await clock.advance(3100 + 3000);
    assert.deepEqual(reasons, Array(2).fill("controller test gave up on default/a after 3 s"));
    stop.abort();
    await clock.advance(3000);
    await run;
  });

  test("reconciles the owner of what it owns, the one marked as controller and of the right kind", async () => {
    const seen: string[] = [];
    const owned = (name: string, owner: string, kind: string, controller: boolean): Secret => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name,
        namespace: "default",
        ownerReferences: [{ apiVersion: "v1", kind, name: owner, uid: "1", controller }],
      },
    });
    const secrets = new TestSource([
      owned("x", "mine", "ConfigMap", true),
      owned("y", "other", "Pod", true),
      owned("z", "friend", "ConfigMap", false),
    ]);
    const { clock, stop, run } = start({
      sources: [owns(secrets, ConfigMap)],
      reconcile: async (request) => {
        seen.push(formatRequest(request));
        return done();
      },
    });
    await clock.advance(0);
    assert.deepEqual(seen, ["default/mine"]);
    secrets.set(owned("x", "new", "ConfigMap", true));
    await clock.advance(0);
    assert.deepEqual(seen.slice(1), ["default/mine", "default/new"], "the owner before, and the owner now");
    stop.abort();
    await run;
  });

  test("reconciles what a mapping names, unless the predicate holds the change back", async () => {
    const seen: string[] = [];
    const source = new TestSource([configMap("a", { generation: 1 })]);
    const { clock, stop, run } = start({
      sources: [
        watches(source, { map: ({ metadata }) => [{ name: `node-of-${metadata.name}` }], when: generationChanged }),
      ],
      reconcile: async (request) => {
        seen.push(formatRequest(request));
        return done();
      },
    });
    await clock.advance(0);
    source.set(configMap("a", { generation: 1, labels: { only: "status changed" } }));
    await clock.advance(0);
    assert.deepEqual(seen, ["node-of-a"]);
    source.set(configMap("a", { generation: 2 }));
    await clock.advance(0);
    source.set(configMap("a", { generation: 2, deletionTimestamp: "2030-01-01T00:00:00Z" }));
    await clock.advance(0);
    assert.deepEqual(seen, ["node-of-a", "node-of-a", "node-of-a"]);
    stop.abort();
    await run;
  });

  test("every cache is a source", () => {
    const client = { ...new TestApi(), list: () => assert.fail(), watch: () => assert.fail() };
    const cache = new Cache({
      client,
      kind: ConfigMap,
      clock: new ManualClock(),
      random: () => 0,
      logger: silentLogger,
    });
    assert.ok(watches(cache));
    assert.ok(watches(cache, ({ data }) => Object.keys(data ?? {}).map((name) => ({ name }))));
    assert.ok(owns(cache, Secret, { when: generationChanged }));
  });

  test("goes on with what waits on others where one never answers, and with more of that when it does", async () => {
    const begun: string[] = [];
    const answers = new Map<string, () => void>();
    const reconcile: ControllerOptions["reconcile"] = async ({ namespace, name }) => {
      begun.push(`${namespace}/${name}`);
      if (namespace === "silent") await new Promise<void>((resolve) => answers.set(name, resolve));
      return done();
    };
    const waitsOn: ControllerOptions["waitsOn"] = ({ namespace }) => namespace;
    const { clock, controller, stop, run } = start({ sources: [], reconcile, concurrency: 2, waitsOn });
    const enqueue = (namespace: string, names: string) => {
      for (const name of names) controller.enqueue({ namespace, name });
    };
    enqueue("silent", "abcd");
    enqueue("good", "x");
    await clock.advance(900);
    assert.deepEqual(begun, ["silent/a", "silent/b"], "it may still answer");
    await clock.advance(200);
    assert.deepEqual(begun.splice(0), ["silent/a", "silent/b", "good/x"]);
    enqueue("silent", "ef");
    enqueue("good", "yz");
    await clock.advance(60_000);
    assert.deepEqual(begun.splice(0), ["good/y", "good/z"], "it has as many as there are workers, and no more");
    answers.get("a")?.();
    await clock.advance(0);
    assert.deepEqual(begun.splice(0), ["silent/c"]);
    enqueue("good", "x");
    await clock.advance(0);
    assert.deepEqual(begun.splice(0), ["good/x"], "though one more waits on it");
    for (const name of "bc") answers.get(name)?.();
    await clock.advance(0);
    assert.deepEqual(begun.splice(0), ["silent/d", "silent/e"]);
    for (const name of "de") answers.get(name)?.();
    await clock.advance(0);
    assert.deepEqual(begun.splice(0), ["silent/f"]);
    stop.abort();
    answers.get("f")?.();
    await run;
  });
});
