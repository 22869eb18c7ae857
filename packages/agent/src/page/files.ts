import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";
import { PageFilesMissing } from "./errors.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

interface BuiltFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly packed: Buffer;
  readonly tag: string;
}

/** The built files of the page, read once and held packed: they are few and small. */
export class PageFiles {
  readonly #directory: string;
  #files: Promise<ReadonlyMap<string, BuiltFile>> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Answers with a file, or with the page itself for any path that is one of its own. */
  async serve(request: IncomingMessage, response: ServerResponse, path: string, nonce: string): Promise<void> {
    this.#files ??= this.#read().catch((error: unknown) => {
      this.#files = undefined;
      throw error;
    });
    const files = await this.#files;
    const file = files.get(path);
    if (file !== undefined && path !== "/index.html") return send(request, response, file);
    if (extname(path) !== "" && path !== "/index.html") {
      response.writeHead(404, { "content-type": "text/plain; charset=utf-8" });
      return void response.end("there is no such file\n");
    }
    const page = files.get("/index.html")?.plain.toString("utf8").replaceAll("{{nonce}}", nonce);
    response.writeHead(200, { "content-type": TYPES[".html"], "cache-control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : page);
  }

  async #read(): Promise<ReadonlyMap<string, BuiltFile>> {
    const directory = this.#directory;
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
      throw new PageFilesMissing({ directory, reason: "there is no such folder" }, { cause });
    });
    const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const files = await Promise.all(
      names.map(async (name): Promise<[string, BuiltFile]> => {
        const plain = await readFile(name);
        const path = `/${relative(directory, name).split(sep).join("/")}`;
        const tag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 20)}"`;
        const type = TYPES[extname(name)] ?? "application/octet-stream";
        return [path, { type, plain, packed: gzipSync(plain, { level: 9 }), tag }];
      }),
    );
    const map = new Map(files);
    if (!map.has("/index.html")) throw new PageFilesMissing({ directory, reason: "it has no index.html" });
    return map;
  }
}

function send(request: IncomingMessage, response: ServerResponse, { type, plain, packed, tag }: BuiltFile): void {
  // Names of scripts and styles hold a hash of their content, so what was fetched once is good for ever.
  const headers = { etag: tag, "cache-control": "public, max-age=31536000, immutable", vary: "accept-encoding" };
  if (request.headers["if-none-match"] === tag) {
    response.writeHead(304, headers);
    return void response.end();
  }
  const packs = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = packs ? packed : plain;
  response.writeHead(200, {
    ...headers,
    "content-type": type,
    "content-length": body.length,
    ...(packs && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
