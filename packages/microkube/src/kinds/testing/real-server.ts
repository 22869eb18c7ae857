import { apiVersionOf, type KubeObject } from "@fjord/base";
import { ApiError, type KubeClient } from "@fjord/kube";
import type { ResourceType } from "../resource-type.ts";
import { causesOf, type Outcome } from "./trial.ts";

export type Method = Parameters<KubeClient["raw"]>[0];

interface Kept extends AsyncDisposable {
  readonly object: KubeObject;
  /** Its row of a table, by columns, and the object as it was then. */
  row(): Promise<{ cells: Record<string, unknown>; object: KubeObject }>;
  /** What a merge patch would make of it; nothing is changed. */
  change(patch: Record<string, unknown>): Promise<Outcome>;
}

/** The referee. */
export class RealServer {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** What pods need before a controller manager has made it. */
  async prepare(): Promise<void> {
    const body = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await this.#send("POST", "/api/v1/namespaces/default/serviceaccounts", body);
  }

  create(type: ResourceType, object: KubeObject): Promise<Outcome> {
    return this.#send("POST", `${pathOf(type)}?dryRun=All`, withKind(type, object));
  }

  async keep(type: ResourceType, object: KubeObject): Promise<Kept> {
    const { object: kept, errors } = await this.#send("POST", pathOf(type), withKind(type, object));
    if (kept === undefined) throw new Error(`not created: ${errors?.join(", ")}`);
    const path = `${pathOf(type)}/${kept.metadata.name}`;
    return {
      object: kept,
      row: () => this.#row(path),
      change: (patch) => this.#send("PATCH", `${path}?dryRun=All`, patch, "application/merge-patch+json"),
      [Symbol.asyncDispose]: async () => {
        await this.#send("DELETE", path, { gracePeriodSeconds: 0, propagationPolicy: "Background" });
      },
    };
  }

  /** Any request, with its answer as it is; what it has changed is known to the whole server before the next. */
  async send(
    method: Method,
    path: string,
    body: unknown,
    contentType: string,
  ): Promise<{ code: number; body: unknown }> {
    const headers = { "content-type": contentType, accept: "application/json" };
    try {
      const content = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await this.#client.raw(method, path, { ...content, headers });
      const answer: unknown = JSON.parse(response.body.toString());
      if (method !== "GET") await this.#settled(method, path, answer as Partial<KubeObject>);
      return { code: response.statusCode, body: answer };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { code: error.statusCode, body: error.status };
    }
  }

  /**
   * Waits until the server's watch cache has a change. It tries the next one on what its cache has, and again where that was old: by then a port that
   * it had taken for the first try is taken, and it refuses what it would have done.
   */
  async #settled(method: Method, path: string, { metadata }: Partial<KubeObject>): Promise<void> {
    if (metadata?.resourceVersion === undefined || metadata.name === undefined) return;
    const object = method === "POST" ? `${path}/${metadata.name}` : path;
    try {
      await this.#client.raw("GET", `${object}?resourceVersion=${metadata.resourceVersion}`);
    } catch (error) {
      // Gone with the change, or a subresource that cannot be read.
      if (!(error instanceof ApiError)) throw error;
    }
  }

  async #row(path: string): Promise<{ cells: Record<string, unknown>; object: KubeObject }> {
    const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
    const response = await this.#client.raw("GET", `${path}?includeObject=Object`, { headers });
    const { columnDefinitions, rows } = JSON.parse(response.body.toString()) as Table;
    const [row] = rows;
    if (row === undefined) throw new Error(`no row for ${path}`);
    return { cells: rowOf(columnDefinitions, row.cells), object: row.object };
  }

  async #send(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body: object,
    contentType = "application/json",
  ): Promise<Outcome> {
    const headers = { "content-type": contentType, accept: "application/json" };
    try {
      const response = await this.#client.raw(method, path, { body: JSON.stringify(body), headers });
      return { object: JSON.parse(response.body.toString()), warnings: warningsOf(response.headers.warning) };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { errors: causesOf(error.status ?? {}), warnings: [] };
    }
  }
}

interface Table {
  readonly columnDefinitions: { name: string; type: string; format: string; priority: number }[];
  readonly rows: { cells: unknown[]; object: KubeObject }[];
}

/** Cells by what their column is; ages in seconds are of the moment. */
export function rowOf(
  columns: readonly { name: string; type: string; format?: string; priority: number }[],
  cells: readonly unknown[],
): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(({ name, type, format = "", priority }, i) => {
      const cell = cells[i];
      const isAge = typeof cell === "string" && /^\d+s$/.test(cell);
      return [[name, type, format, priority].join(" "), isAge ? "an age" : cell];
    }),
  );
}

function warningsOf(header: string | readonly string[] | undefined): string[] {
  return [header ?? []]
    .flat()
    .flatMap((line) => [...line.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)])
    .map(([, text]) => JSON.parse(`"${text}"`) as string);
}

function pathOf(type: ResourceType): string {
  const base = type.group === "" ? "/api" : `/apis/${type.group}`;
  return `${base}/${type.version}/${type.namespaced ? "namespaces/default/" : ""}${type.plural}`;
}

function withKind(type: ResourceType, object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind };
}
