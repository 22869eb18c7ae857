import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { LocalConnection, LocalPod, PodProcess } from "./local-connection.ts";
import { inodeIn, parseSocketTable } from "./socket-table.ts";

interface Question {
  readonly connection: LocalConnection;
  readonly answer: (pod: LocalPod | undefined) => void;
}

/** For so many times as long as a look has taken the processor, there is none. */
const REST = 2;
/** More than that are not looked for: whoever asks so much waits for nothing. */
const MOST_QUESTIONS = 4096;
/** Deeper, and more of them, than processes of a pod are. */
const MOST_PROCESSES = 512;

/**
 * Finds the pods whose processes hold sockets, as the kernel tells it. What is asked meanwhile is looked for together, and no more than a third of the
 * time is spent on it: one who opens many connections costs others little. A process that has left the pod's own is nobody's.
 */
export class SocketOwners {
  readonly #processes: () => Iterable<PodProcess>;
  #questions: Question[] = [];
  #isLooking = false;
  /** Of the pods that were found, the latest first. */
  #recent: string[] = [];

  constructor(processes: () => Iterable<PodProcess>) {
    this.#processes = processes;
  }

  ownerOf(connection: LocalConnection): Promise<LocalPod | undefined> {
    if (this.#questions.length >= MOST_QUESTIONS) return Promise.resolve(undefined);
    return new Promise((answer) => {
      this.#questions.push({ connection, answer });
      if (!this.#isLooking) void this.#lookForAll();
    });
  }

  async #lookForAll(): Promise<void> {
    this.#isLooking = true;
    while (this.#questions.length > 0) {
      const began = process.cpuUsage();
      const questions = this.#questions;
      this.#questions = [];
      try {
        await this.#look(questions);
      } finally {
        for (const { answer } of questions) answer(undefined);
      }
      // Of the processor's time: on a machine that is busy, others have had theirs meanwhile.
      const { user, system } = process.cpuUsage(began);
      await pause((REST * (user + system)) / 1000);
    }
    this.#isLooking = false;
  }

  async #look(questions: readonly Question[]): Promise<void> {
    const wanted = socketsOf(questions);
    if (wanted.size === 0) return;
    const rank = new Map(this.#recent.map((uid, index) => [uid, index]));
    const place = ({ pod }: PodProcess) => rank.get(pod.uid) ?? this.#recent.length;
    for (const { pid, pod } of [...this.#processes()].sort((a, b) => place(a) - place(b))) {
      for (const link of socketsBelow(pid)) {
        const found = wanted.get(link);
        if (found === undefined) continue;
        wanted.delete(link);
        for (const { answer } of found) answer(pod);
        this.#recent = [pod.uid, ...this.#recent.filter((uid) => uid !== pod.uid)].slice(0, 64);
        if (wanted.size === 0) return;
      }
      await pause(0);
    }
  }
}

/** By what a descriptor of theirs links to. */
function socketsOf(questions: readonly Question[]): Map<string, Question[]> {
  const wanted = new Map<string, Question[]>();
  for (const [protocol, files] of [
    ["TCP", ["/proc/net/tcp", "/proc/net/tcp6"]],
    ["UDP", ["/proc/net/udp", "/proc/net/udp6"]],
  ] as const) {
    let left = questions.filter(({ connection }) => connection.protocol === protocol);
    for (const file of files) {
      if (left.length === 0) break;
      // At once: the kernel gives a page at a time, and to wait for each would take long on a machine that is busy.
      const table = parseSocketTable(ifThere(() => readFileSync(file, "latin1")) ?? "");
      left = left.filter((question) => {
        const inode = inodeIn(table, question.connection);
        if (inode === undefined) return true;
        const link = `socket:[${inode}]`;
        wanted.set(link, [...(wanted.get(link) ?? []), question]);
        return false;
      });
    }
  }
  return wanted;
}

/** What the descriptors of a process and of all that it has begun link to, as far as they may be read. */
function* socketsBelow(root: number): Generator<string> {
  const pids = [root];
  for (let index = 0; index < pids.length && index < MOST_PROCESSES; index++) {
    const pid = pids[index] as number;
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      const link = ifThere(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`));
      if (link?.startsWith("socket:")) yield link;
    }
    for (const thread of entries(`/proc/${pid}/task`)) {
      const children = ifThere(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1")) ?? "";
      pids.push(...children.split(" ").filter(Boolean).map(Number));
    }
  }
}

function entries(folder: string): string[] {
  return ifThere(() => readdirSync(folder)) ?? [];
}

/** Processes end while they are looked at, and some belong to others. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
}
