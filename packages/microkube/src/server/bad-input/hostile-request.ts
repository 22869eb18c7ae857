import type { BuiltInResource, Schemas } from "../../schema/index.ts";
import type { Choice } from "./choice.ts";
import { hostileText, hostileValue, nested } from "./hostile-values.ts";
import { mutatedValue, sampleValue } from "./sample-object.ts";
import { type Seed, seeds } from "./seeds.ts";

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY"];
const plainPaths = ["/", "/api", "/apis", "/version", "/healthz", "/livez/ping", "/metrics", "/openapi/v2"];
const morePaths = ["/openapi/v3", "/openapi/v3/apis/apps/v1", "/openid/v1/jwks", "/.well-known/openid-configuration"];
const parameters: Readonly<Record<string, readonly string[]>> = {
  limit: ["1", "500"],
  continue: ["eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "e30", "W10"],
  resourceVersion: ["0", "1", "999999999999"],
  resourceVersionMatch: ["Exact", "NotOlderThan"],
  labelSelector: ["a=b", "a in (b,c)", "!a,b!=c", "a>1", "((((", "a=b,".repeat(2000)],
  fieldSelector: ["metadata.name=p", "spec.nodeName!=", "status.phase=x\\,y", "a.b.c=d"],
  timeoutSeconds: ["1", "0"],
  fieldManager: ["me", "m".repeat(200)],
  force: ["true", "maybe"],
  dryRun: ["All", "Some"],
  fieldValidation: ["Strict", "Warn", "Ignore", "x"],
  pretty: ["true", "0"],
  includeObject: ["Object", "None", "Metadata"],
  gracePeriodSeconds: ["0", "30", "-5"],
  propagationPolicy: ["Foreground", "Orphan", "Sideways"],
  orphanDependents: ["true", "x"],
  watch: ["true", "1", "yes"],
  allowWatchBookmarks: ["true"],
  sendInitialEvents: ["true", "false"],
  container: ["c", "nobody"],
  command: ["sh"],
  stdin: ["true"],
  tailLines: ["-1", "10"],
  ports: ["80", "x"],
  path: ["/x", "//evil"],
};
const contentTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/json; charset=utf-16",
  "application/cbor",
  "text/html",
  "",
  "application/json;".repeat(50),
  "/",
];
const patchTypes = ["json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
const accepts = [
  "*/*",
  "application/json",
  "application/yaml",
  "text/x",
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  "application/json;as=Nothing;v=v9;g=x,",
  "application/vnd.kubernetes.protobuf",
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  ",".repeat(500),
];

/** What admission is made of would, in force, be in the way of all that follows: it is only tried. */
const TRIED_ONLY = new Set(["admissionregistration.k8s.io", "apiregistration.k8s.io"]);

/** Requests by somebody who means harm, or a client that is out of its mind: one after the other, as a seed decides. */
export class HostileRequests {
  readonly #choice: Choice;
  readonly #resources: readonly BuiltInResource[];
  readonly #schemas: Schemas;

  constructor(choice: Choice, resources: readonly BuiltInResource[], schemas: Schemas) {
    this.#choice = choice;
    this.#resources = resources;
    this.#schemas = schemas;
  }

  next(): HostileRequest {
    return this.#choice.chance(0.4) ? this.#atSeed(this.#choice.one(seeds)) : this.#anywhere();
  }

  /** At an object that is there, with what is nearly one. */
  #atSeed(seed: Seed): HostileRequest {
    const choice = this.#choice;
    const method = choice.one(["POST", "PUT", "PUT", "PATCH", "PATCH", "GET", "DELETE"]);
    const name = (seed.object.metadata as { name: string }).name;
    const below = choice.chance(0.15)
      ? choice.one(["/status", "/scale", "/log", "/eviction", "/binding", "/resize"])
      : "";
    const path = method === "POST" ? seed.path : `${seed.path}/${name}${below}`;
    const query = this.#query(false);
    const headers = this.#headers(method);
    const withQuery = query === "" ? path : `${path}?${query}`;
    if (method === "GET") return { method, path: withQuery, headers };
    if (method === "DELETE") return { method, path: withQuery, headers, body: JSON.stringify(this.#deleteOptions()) };
    if (choice.chance(0.02)) return { method, path: withQuery, headers, body: this.#deepIn(seed) };
    const value = mutatedValue(choice.chance(0.7) ? seed.object : mutatedValue(seed.object, choice), choice);
    const body = headers["content-type"]?.includes("json-patch") ? this.#operations(value) : value;
    return { method, path: withQuery, headers, body: JSON.stringify(body) ?? "" };
  }

  /** Deeper than most stacks, where anything may be. */
  #deepIn({ object }: Seed): string {
    const depth = this.#choice.one([900, 3_000, 9_000, 60_000]);
    const deep = nested(depth, this.#choice.one(['{"a":', '[{"b":[']), "", "1");
    const closed = deep + (deep.startsWith("{") ? "}".repeat(depth) : "]}]".repeat(depth));
    return JSON.stringify({ ...object, spec: { open: "@" }, status: "@" }).replaceAll('"@"', closed);
  }

  #deleteOptions(): unknown {
    const options = { gracePeriodSeconds: 0, propagationPolicy: "Background", preconditions: { uid: "x" } };
    return this.#choice.chance(0.3) ? { gracePeriodSeconds: 0 } : mutatedValue(options, this.#choice);
  }

  #anywhere(): HostileRequest {
    const choice = this.#choice;
    const resource = choice.one(this.#resources);
    const method = this.#method();
    const [path, subresource] = choice.chance(0.05)
      ? [choice.one([...plainPaths, ...morePaths]), ""]
      : this.#path(resource, method);
    const isTried = TRIED_ONLY.has(resource.group);
    const query = this.#query(isTried);
    const withQuery = `${this.#mangled(path)}${query === "" ? "" : `?${query}`}`;
    const headers = this.#headers(method);
    const hasBody = !["GET", "HEAD", "TRACE", "OPTIONS"].includes(method) || choice.chance(0.02);
    if (!hasBody) return { method, path: withQuery, headers };
    return { method, path: withQuery, headers, body: this.#body(resource, subresource, headers["content-type"] ?? "") };
  }

  #method(): string {
    // Mostly those that do something.
    return this.#choice.chance(0.7)
      ? this.#choice.one(["GET", "POST", "PUT", "PATCH", "DELETE"])
      : this.#choice.one(methods);
  }

  #path({ group, version, plural, namespaced, subresources }: BuiltInResource, method: string): [string, string] {
    const choice = this.#choice;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const space = namespaced && choice.chance(0.9) ? `/namespaces/${choice.one(["default", "hostile", "none"])}` : "";
    const all = `${root}${space}/${plural}`;
    if (choice.chance(method === "POST" ? 0.8 : 0.2)) return [all, ""];
    const name = choice.one(["a", "p", "b", "default", "p:80", "https:p:x"]);
    const below = subresources.length > 0 && choice.chance(0.3) ? choice.one(subresources).name : "";
    if (below === "") return [`${all}/${name}`, ""];
    return [`${all}/${name}/${below}${choice.chance(0.2) ? "/x/../y" : ""}`, below];
  }

  #mangled(path: string): string {
    const choice = this.#choice;
    if (!choice.chance(0.25)) return path;
    const at = choice.below(path.length + 1);
    const pieces = [
      "/",
      "%2e%2e",
      "%",
      "%zz",
      "%00",
      "%ff",
      "..",
      "//",
      ";",
      "é",
      "\\",
      "%2F",
      "x".repeat(3000),
      "%25".repeat(99),
    ];
    const made = path.slice(0, at) + choice.one(pieces) + path.slice(choice.chance(0.5) ? at : at + choice.below(6));
    return `/${Buffer.from(made)
      .toString("latin1")
      .replaceAll(/[^!-~\u00a1-\u00ff]|#/g, "")
      .replace(/^\/+/, "")}`;
  }

  #query(isTried: boolean): string {
    const choice = this.#choice;
    const query = new URLSearchParams();
    if (isTried) query.append("dryRun", "All");
    for (let left = choice.chance(0.5) ? choice.below(4) : 0; left > 0; left--) {
      const name = choice.one(Object.keys(parameters));
      if (isTried && name === "dryRun") continue;
      query.append(name, choice.chance(0.6) ? choice.one(parameters[name] ?? []) : hostileText(choice).slice(0, 4000));
    }
    const text = query.toString();
    return choice.chance(0.05) ? text.replaceAll("%", "") : text;
  }

  #headers(method: string): Record<string, string> {
    const choice = this.#choice;
    const type =
      method === "PATCH" && choice.chance(0.9)
        ? `application/${choice.one(patchTypes)}`
        : choice.chance(0.7)
          ? "application/json"
          : choice.one(contentTypes);
    const headers: Record<string, string> = {
      "content-type": type,
      accept: choice.chance(0.8) ? "application/json" : choice.one(accepts),
    };
    if (choice.chance(0.03))
      headers.authorization = choice.one(["Bearer x", "Bearer ", "Basic e30=", "Bearer a.b.c", "x".repeat(9000)]);
    if (choice.chance(0.03)) {
      headers[choice.one(["impersonate-user", "impersonate-group", "impersonate-extra-%zz", "x-remote-user"])] =
        choice.one(["", "me", "system:serviceaccount:a", "é"]);
    }
    if (choice.chance(0.02)) headers.expect = choice.one(["100-continue", "200-ok"]);
    if (choice.chance(0.02)) headers["content-encoding"] = choice.one(["gzip", "x"]);
    if (choice.chance(0.02)) headers["accept-encoding"] = choice.one(["gzip", "*;q=x"]);
    if (choice.chance(0.02)) headers["user-agent"] = choice.one(["curl/1", "\u0007".repeat(0), "é".repeat(300), "/"]);
    return headers;
  }

  #body(resource: BuiltInResource, subresource: string, type: string): string | Buffer {
    const choice = this.#choice;
    if (choice.chance(0.02)) return this.#hopeless();
    const value = this.#object(resource, subresource);
    if (type.includes("json-patch")) return JSON.stringify(this.#operations(value));
    if (type.includes("protobuf")) return this.#protobuf(resource);
    const text = JSON.stringify(choice.chance(0.5) ? value : mutatedValue(value, choice));
    return choice.chance(0.85) ? text : this.#torn(text);
  }

  #object({ group, version, kind, subresources }: BuiltInResource, subresource: string): unknown {
    const choice = this.#choice;
    const below = subresources.find(({ name }) => name === subresource);
    const of = below ?? { group, version, kind };
    const schema = this.#schemas.of(of);
    const made = schema === undefined ? hostileValue(choice) : sampleValue(schema, choice);
    if (typeof made !== "object" || made === null || Array.isArray(made)) return made;
    const apiVersion = of.group === "" ? of.version : `${of.group}/${of.version}`;
    const head = { apiVersion, kind: of.kind };
    const metadata = { ...(made as { metadata?: object }).metadata, name: choice.one(["a", "b", "p"]) };
    if (choice.chance(0.8))
      for (const field of ["uid", "resourceVersion", "namespace", "deletionTimestamp"])
        delete (metadata as Record<string, unknown>)[field];
    return { ...made, ...(choice.chance(0.95) && head), ...(choice.chance(0.9) && { metadata }) };
  }

  #operations(value: unknown): unknown {
    const choice = this.#choice;
    const paths = [
      "",
      "/",
      "/metadata",
      "/metadata/labels/a~1b",
      "/spec",
      "/spec/containers/0",
      "/spec/containers/-",
      "/data/x",
      "/metadata/finalizers/9",
      "/~",
      "/metadata/name",
      "/status",
    ];
    const operations = Array.from({ length: 1 + choice.below(4) }, () => ({
      op: choice.one(["add", "remove", "replace", "move", "copy", "test", "explode"]),
      path: choice.chance(0.9) ? choice.one(paths) : hostileValue(choice),
      from: choice.chance(0.9) ? choice.one(paths) : hostileValue(choice),
      value: choice.chance(0.5) ? value : hostileValue(choice),
    }));
    if (choice.chance(0.02)) {
      // Doubles each time.
      return Array.from({ length: 60 }, (_, n) => ({ op: "copy", from: "/metadata", path: `/metadata/x${n}` }));
    }
    return choice.chance(0.95) ? operations : hostileValue(choice);
  }

  #protobuf({ group, version, kind }: BuiltInResource): Buffer {
    const choice = this.#choice;
    const field = (number: number, content: Buffer) =>
      Buffer.concat([Buffer.from([(number << 3) | 2]), varint(content.length), content]);
    const noise = Buffer.from(Array.from({ length: choice.below(200) }, () => choice.below(256)));
    const deep = () => {
      let made: Buffer = noise;
      for (let level = 0; level < choice.one([3, 300]); level++) made = field(1 + choice.below(4), made);
      return made;
    };
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const meta = Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))]);
    const raw = choice.chance(0.5) ? deep() : noise;
    const whole = Buffer.concat([Buffer.from("k8s\0"), field(1, meta), field(2, raw)]);
    return choice.chance(0.8) ? whole : whole.subarray(0, choice.below(whole.length));
  }

  /** Text with a piece of something else. */
  #torn(text: string): string {
    const choice = this.#choice;
    const at = choice.below(text.length + 1);
    const piece = choice.one([
      "",
      '"',
      "{",
      "[",
      "null",
      "\u0000",
      "}]",
      ":",
      ",",
      "\\u12",
      "1e",
      "/*",
      "\ufeff",
      "&a *a",
      "!!js/function x",
      "- ? :",
      "\t",
    ]);
    return text.slice(0, at) + piece + (choice.chance(0.3) ? "" : text.slice(at + choice.below(5)));
  }

  /** No object at all, and much of it. */
  #hopeless(): string | Buffer {
    const choice = this.#choice;
    switch (choice.below(9)) {
      case 0:
        return nested(choice.one([5_000, 200_000, 1_000_000]), "[", "]");
      case 1:
        return nested(choice.one([5_000, 100_000]), '{"a":', "}");
      case 2:
        return `{"metadata":{"name":"deep","annotations":${nested(20_000, '{"a":', "}")}}}`;
      case 3:
        return `a: &a [${"x,".repeat(50)}]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &b${n} [${`*${n === 0 ? "a" : `b${n - 1}`},`.repeat(20)}]`).join("\n")}`;
      case 4:
        return nested(3_000, "- ", "");
      case 5:
        return Buffer.from(Array.from({ length: 2_000 }, () => choice.below(256)));
      case 6:
        return `{"data":{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":"v"`).join(",")}},"metadata":{"name":"many"}}`;
      case 7:
        return "x".repeat(3 * 1024 * 1024 + choice.below(10));
      default:
        return `{"metadata":{"name":"l","labels":{${Array.from({ length: 2_000 }, (_, n) => `"k${n}":"${n}"`).join(",")}}}}`;
    }
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}
