import { randomUUID } from "node:crypto";
import { isIP } from "node:net";
import type { Clock } from "@fjord/base";
import type { Attributes } from "../authorization/authorizer.ts";
import type { Caller } from "../cluster.ts";
import type { AuditLog } from "./audit-log.ts";
import { AuditRecord } from "./audit-record.ts";
import { type AuditPolicy, decide } from "./policy.ts";

export interface AuditorOptions {
  readonly policy: AuditPolicy;
  readonly log: AuditLog;
  readonly clock: Clock;
}

/** What is looked at of a request and its answer. */
export interface AuditedExchange {
  readonly request: {
    readonly url?: string | undefined;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  };
  readonly response: {
    readonly socket: { readonly remoteAddress?: string | undefined } | null;
    setHeader(name: string, value: string): unknown;
  };
}

const LONGEST_ID = 64;
const LONGEST_USER_AGENT = 1024;
const CUT = "...TRUNCATED";

/** Writes down who asked for what and what came of it, as far as a policy wants to know. */
export class Auditor {
  readonly #options: AuditorOptions;

  constructor(options: AuditorOptions) {
    this.#options = options;
  }

  /** A request of somebody who is known; undefined: the policy does not care. */
  begin(exchange: AuditedExchange, caller: Caller | undefined, attributes: Attributes): AuditRecord | undefined {
    const { policy, log, clock } = this.#options;
    const decision = decide(policy, caller, attributes);
    if (decision.level === "None") return undefined;
    const { url = "/", headers } = exchange.request;
    const id = idOf(headers["audit-id"]);
    exchange.response.setHeader("Audit-Id", id);
    const request = {
      ...{ id, uri: url, attributes, caller },
      sourceIPs: sourceIPs(headers, exchange.response.socket?.remoteAddress),
      userAgent: cut(textOf(headers["user-agent"])),
    };
    const sink = { now: () => clock.now(), write: (event: object) => log.write(event) };
    return new AuditRecord(request, decision, sink);
  }

  close(): void {
    this.#options.log.close();
  }
}

function idOf(header: string | readonly string[] | undefined): string {
  const id = textOf(header) ?? "";
  return id === "" ? randomUUID() : id.slice(0, LONGEST_ID);
}

function cut(text: string | undefined): string | undefined {
  if (text === undefined || text.length <= LONGEST_USER_AGENT) return text;
  return text.slice(0, LONGEST_USER_AGENT - CUT.length) + CUT;
}

/** From the client on, by what proxies say of it, to whoever has connected. */
function sourceIPs(headers: AuditedExchange["request"]["headers"], remote = "127.0.0.1"): string[] {
  const forwarded = (textOf(headers["x-forwarded-for"]) ?? "").split(",").map((one) => one.trim());
  const real = textOf(headers["x-real-ip"]) ?? "";
  const told = forwarded.filter((one) => isIP(one) !== 0);
  if (isIP(real) !== 0 && !told.includes(real)) told.push(real);
  const address = remote.replace(/^::ffff:/, "");
  return told.at(-1) === address ? told : [...told, address];
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.join(",");
}
