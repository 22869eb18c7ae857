import { constants } from "node:fs";
import { access, mkdir, stat, writeFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { dirname, join } from "node:path";
import { type Clock, describeError, type Logger, type Random, silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient } from "@fjord/kube";
import { advertisedAddress, hostNetwork } from "./advertised-address.ts";
import { ApiPlane } from "./api-plane.ts";
import { AuditLog, Auditor, readPolicy } from "./audit/index.ts";
import { ClusterCredentials } from "./authentication/index.ts";
import { runControlLoops } from "./control-loops.ts";
import {
  AddressUnusable,
  AuditLogUnusable,
  DataDirectoryUnusable,
  KubeconfigUnwritable,
  PortTaken,
  StateInUse,
  StateUnreadable,
} from "./errors.ts";
import { Listener } from "./server/listener.ts";
import { SqliteStore, type SqliteStoreOptions } from "./store/index.ts";

export interface MicrokubeOptions {
  /** Where everything is kept. Without it, in memory only: gone with the process. */
  readonly dataDir?: string;
  /** Whether acknowledged writes survive the loss of power, too. @default "process" */
  readonly survives?: "process" | "machine";
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** @default 0: any that is free */
  readonly port?: number;
  /** The address that pods are told to find the API at. @default `host`, or that of the machine's default interface */
  readonly advertiseAddress?: string;
  /** Names and addresses that clients reach it by, beyond `host` and localhost. */
  readonly serverNames?: readonly string[];
  /** Where Services get their addresses from: one range, or one of each family. @default 10.96.0.0/16 */
  readonly serviceRanges?: readonly string[];
  /** Where nodes get the ranges of their pods from. @default nodes bring their own */
  readonly podRanges?: readonly string[];
  /** Whether workloads, endpoints, namespaces and so on are looked after. @default true */
  readonly controllers?: boolean;
  /** Whether pods are given nodes. @default true */
  readonly scheduler?: boolean;
  /** Who asked for what is written down, as kube-apiserver does it. @default nothing is */
  readonly audit?: AuditOptions;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

export interface AuditOptions {
  /** A Policy of audit.k8s.io/v1, in YAML or JSON. */
  readonly policyFile: string;
  /** A file, added to; `-` for standard output. */
  readonly logPath: string;
  /** "blocking": what is answered has been written down. "batch": a second's events at once. @default "blocking" */
  readonly mode?: "blocking" | "batch";
}

/** A control plane that runs. */
export interface Microkube extends AsyncDisposable {
  /** `https://127.0.0.1:6443`. */
  readonly server: string;
  /** The administrator's, as text. */
  readonly kubeconfig: string;
  /** The same in a file, where there is a `dataDir`. */
  readonly kubeconfigPath: string | undefined;
  readonly credentials: ClusterCredentials;
  /** A client with the administrator's rights. Whoever takes it closes it. */
  client(): KubeClient;
  close(): Promise<void>;
}

const COMPACT_EVERY_MS = 15_000;
const HISTORY_MS = 5 * 60_000;

/** Starts a control plane in this process; many may run in one. Resolves when it serves. */
export async function startMicrokube(options: MicrokubeOptions = {}): Promise<Microkube> {
  const { dataDir, survives = "process", host = "127.0.0.1", port = 0, serverNames = [] } = options;
  const { serviceRanges = ["10.96.0.0/16"], podRanges: [podCidr] = [] } = options;
  const { clock = systemClock, random = Math.random, logger = silentLogger } = options;
  const onLoopback = serviceRanges.some((range) => range.startsWith("127."));
  const advertised = options.advertiseAddress ?? advertisedAddress(host, onLoopback, hostNetwork);
  // Whatever fails on the way: what is open by then would keep the process, and the directory.
  await using begun = new AsyncDisposableStack();
  if (dataDir !== undefined) await openFolder(dataDir);
  const isEvery = host === "0.0.0.0" || host === "::";
  const names = [...new Set([...serverNames, ...(isEvery ? [] : [host]), ...(advertised ? [advertised] : [])])];
  const folder = dataDir === undefined ? undefined : join(dataDir, "pki");
  if (folder !== undefined) await openFolder(folder);
  const credentials = await ClusterCredentials.open({ clock, serverNames: names, ...(folder && { folder }) });
  const auditor = options.audit && (await openAuditor(options.audit, clock, logger));
  begun.defer(() => auditor?.close());
  const path = dataDir === undefined ? ":memory:" : join(dataDir, "state.db");
  const told = (problem: string | undefined) =>
    problem === undefined
      ? logger.info("writes are kept again")
      : logger.error("nothing can be written: all is read-only until it can", { path, problem });
  const kubeconfigPath = dataDir === undefined ? undefined : join(dataDir, "kubeconfig");
  if (kubeconfigPath !== undefined) await refuseEmptied(path, kubeconfigPath);
  const store = openStore({ path, survives, told });
  begun.defer(() => store.close());
  let address = "";
  const plane = new ApiPlane({
    ...{ store, credentials, serviceRanges, clock, random, logger, address: () => address },
    ...(auditor && { auditor }),
  });
  const { clusterCa, frontProxyCa, server: certificate } = credentials;
  const clientAuthorities = [clusterCa.certificate, frontProxyCa.certificate];
  const listener = new Listener({ api: plane.server, host, port, certificate, clientAuthorities });
  begun.defer(() => listener.close());
  begun.defer(() => plane.close());
  await plane.start();
  await listener.listen().catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, host, port);
  });
  const shownHost = isEvery ? "127.0.0.1" : host;
  address = `${isIPv6(shownHost) ? `[${shownHost}]` : shownHost}:${listener.port}`;
  const server = `https://${address}`;
  await plane.publish({ advertised, port: listener.port });
  const kubeconfig = await credentials.kubeconfig(server);
  if (kubeconfigPath !== undefined) await writeKubeconfig(kubeconfigPath, kubeconfig);
  const { controllers = true, scheduler = true } = options;
  begun.defer(
    runControlLoops({
      ...{ api: plane.server, rootCa: clusterCa.certificate, clock, random, logger, controllers, scheduler },
      ...{ authority: clusterCa, tokens: plane.tokens, ...(podCidr !== undefined && { podCidr }) },
    }),
  );
  begun.defer(compactRegularly(store, clock));
  const running = begun.move();
  let closing: Promise<void> | undefined;
  const microkube: Microkube = {
    server,
    kubeconfig,
    kubeconfigPath,
    credentials,
    client: () => new KubeClient(clusterConfig({ server, ca: clusterCa.certificate, ...credentials.admin })),
    close() {
      closing ??= running.disposeAsync();
      return closing;
    },
    [Symbol.asyncDispose]: () => microkube.close(),
  };
  return microkube;
}

async function openFolder(path: string): Promise<void> {
  try {
    await makeFolder(path);
    await access(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const problem = folderProblems[code] ?? describeError(cause);
    throw new DataDirectoryUnusable({ path, problem }, { cause });
  }
}

/** One by one: Node's own way to make them all goes on for ever where the kernel lets nobody make any. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await isThere(parent))) throw error;
    await makeFolder(parent);
    await mkdir(path, { mode: 0o700 });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

const folderProblems: Record<string, string> = {
  EEXIST: "it is a file, and no folder",
  ENOTDIR: "a part of its path is a file, and no folder",
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "it is on a file system that is read-only",
  ENOENT: "no folder can be made there",
  ENOSPC: "the disk is full",
};

function cannotListen(cause: NodeJS.ErrnoException, host: string, port: number): unknown {
  const { code = "" } = cause;
  if (code === "EADDRINUSE") return new PortTaken({ host, port }, { cause });
  const problem = listenProblems[code];
  return problem === undefined ? cause : new AddressUnusable({ host, port, problem }, { cause });
}

const listenProblems: Record<string, string> = {
  EADDRNOTAVAIL: "this machine does not have that address",
  EINVAL: "that is no address to listen on",
  ENOTFOUND: "no such name is known",
  EAI_AGAIN: "nobody could say what address that name has",
  EACCES: "this user may not; ports below 1024 are for root",
  EAFNOSUPPORT: "this machine does not speak that kind of address",
};

async function openAuditor({ policyFile, logPath, mode = "blocking" }: AuditOptions, clock: Clock, logger: Logger) {
  const policy = await readPolicy(policyFile);
  try {
    return new Auditor({ policy, log: new AuditLog({ path: logPath, mode, clock, logger }), clock });
  } catch (cause) {
    throw new AuditLogUnusable({ path: logPath, problem: describeError(cause) }, { cause });
  }
}

async function writeKubeconfig(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (cause) {
    throw new KubeconfigUnwritable({ path, problem: describeError(cause) }, { cause });
  }
}

/**
 * A file of no bytes is one that was just made, or one that a disk or a person has emptied: a new cluster must not begin
 * in its place, and with that what SQLite has beside it be deleted. The kubeconfig is written once the file has something.
 */
async function refuseEmptied(path: string, kubeconfigPath: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.size !== 0 || !(await isThere(kubeconfigPath))) return;
  throw new StateUnreadable({ path, problem: "it is empty, and the kubeconfig beside it is of a cluster" });
}

function openStore(options: SqliteStoreOptions): SqliteStore {
  const { path } = options;
  try {
    return new SqliteStore(options);
  } catch (cause) {
    const problem = describeError(cause);
    if (problem.includes("locked")) throw new StateInUse({ path }, { cause });
    throw new StateUnreadable({ path, problem }, { cause });
  }
}

/** Keeps the past as long as clients may need it to go on from where they were, whatever the machine's clock says meanwhile. */
function compactRegularly(store: SqliteStore, clock: Clock): () => void {
  const marks: number[] = [];
  let cancel = () => {};
  const tick = () => {
    marks.push(store.revision);
    const due = marks.length > HISTORY_MS / COMPACT_EVERY_MS ? marks.shift() : undefined;
    if (due !== undefined) store.compact(due);
    cancel = clock.after(COMPACT_EVERY_MS, tick);
  };
  cancel = clock.after(COMPACT_EVERY_MS, tick);
  return () => cancel();
}
