import type { DatabaseSync, StatementSync } from "node:sqlite";
import { describeError, type KubeObject, type Logger } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { type DatabaseOptions, openDatabase } from "./open-database.ts";

/** Names an object in the store; the namespace is empty for kinds without one. */
export interface StoredKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * What a node must remember to go on alone: its pods, what they refer to, their tokens, and small notes. One file of
 * mode 0600, secrets among its content. Writing never throws: a full disk must not stop pods, so it is logged instead.
 */
export class NodeStore implements Disposable {
  readonly #database: DatabaseSync;
  readonly #logger: Logger;
  readonly #statements = new Map<string, StatementSync>();
  #failing = false;

  private constructor(database: DatabaseSync, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  static async open(options: DatabaseOptions): Promise<NodeStore> {
    return new NodeStore(await openDatabase(options), options.logger);
  }

  /**
   * Makes all writes of `work` one: done as a whole or not at all. Durable ones outlast a power cut once this returns,
   * others the end of the process only; they cost a tenth.
   */
  transaction(work: () => void, options: { durable: boolean } = { durable: true }): void {
    if (this.#database.isOpen && this.#database.isTransaction) {
      work();
      return;
    }
    try {
      this.#database.exec(`PRAGMA synchronous = ${options.durable ? "FULL" : "NORMAL"}; BEGIN IMMEDIATE`);
      work();
      this.#database.exec("COMMIT");
      if (this.#failing) this.#logger.info("the node's store takes writes again");
      this.#failing = false;
    } catch (error) {
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec("ROLLBACK");
      // One line for an outage, not one for each write.
      if (!this.#failing)
        this.#logger.error("cannot write to the node's store: after a restart without the API, pods may be missing", {
          error: describeError(error),
        });
      this.#failing = true;
    }
  }

  pods(): Pod[] {
    return this.#all("SELECT body FROM pods").map(({ body }) => JSON.parse(String(body)));
  }

  hasPod(uid: string): boolean {
    return this.#one("SELECT 1 AS body FROM pods WHERE uid = ?", uid) !== undefined;
  }

  putPod(pod: Pod): void {
    this.#write("INSERT OR REPLACE INTO pods VALUES (?, ?)", pod.metadata.uid ?? "", JSON.stringify(pod));
  }

  removePod(uid: string): void {
    this.#write("DELETE FROM pods WHERE uid = ?", uid);
  }

  object<T extends KubeObject>({ kind, namespace, name }: StoredKey): T | undefined {
    const sql = "SELECT body FROM objects WHERE kind = ? AND namespace = ? AND name = ?";
    const body = this.#one(sql, kind, namespace, name);
    return body === undefined ? undefined : JSON.parse(body);
  }

  /** All of a kind. */
  objects<T extends KubeObject>(kind: string): T[] {
    return this.#all("SELECT body FROM objects WHERE kind = ?", kind).map(({ body }) => JSON.parse(String(body)));
  }

  objectKeys(): StoredKey[] {
    return this.#all("SELECT kind, namespace, name FROM objects").map((row) => ({
      kind: String(row.kind),
      namespace: String(row.namespace),
      name: String(row.name),
    }));
  }

  putObject(object: KubeObject): void {
    const { namespace = "", name = "" } = object.metadata;
    const sql = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)";
    this.#write(sql, object.kind, namespace, name, JSON.stringify(object));
  }

  removeObject({ kind, namespace, name }: StoredKey): void {
    this.#write("DELETE FROM objects WHERE kind = ? AND namespace = ? AND name = ?", kind, namespace, name);
  }

  /** A token that `putToken` kept for the pod under the same words. */
  token<T>(podUid: string, request: string): T | undefined {
    const body = this.#one("SELECT body FROM tokens WHERE pod = ? AND request = ?", podUid, request);
    return body === undefined ? undefined : JSON.parse(body);
  }

  tokenPods(): string[] {
    return this.#all("SELECT DISTINCT pod FROM tokens").map(({ pod }) => String(pod));
  }

  putToken(podUid: string, request: string, token: unknown): void {
    this.#write("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)", podUid, request, JSON.stringify(token));
  }

  removeTokens(podUid: string): void {
    this.#write("DELETE FROM tokens WHERE pod = ?", podUid);
  }

  /** A note that some part of the node made; topics keep the parts apart. */
  entry<T>(topic: string, key: string): T | undefined {
    const value = this.#one("SELECT value AS body FROM entries WHERE topic = ? AND key = ?", topic, key);
    return value === undefined ? undefined : JSON.parse(value);
  }

  entries<T>(topic: string): Map<string, T> {
    const rows = this.#all("SELECT key, value FROM entries WHERE topic = ?", topic);
    return new Map(rows.map(({ key, value }) => [String(key), JSON.parse(String(value))]));
  }

  putEntry(topic: string, key: string, value: unknown): void {
    this.#write("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", topic, key, JSON.stringify(value));
  }

  removeEntry(topic: string, key: string): void {
    this.#write("DELETE FROM entries WHERE topic = ? AND key = ?", topic, key);
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #write(sql: string, ...values: string[]): void {
    this.transaction(() => this.#statement(sql).run(...values));
  }

  #one(sql: string, ...values: string[]): string | undefined {
    const row = this.#statement(sql).get(...values);
    return row === undefined ? undefined : String(row.body);
  }

  #all(sql: string, ...values: string[]): Record<string, unknown>[] {
    return this.#statement(sql).all(...values);
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
