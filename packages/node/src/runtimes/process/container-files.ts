import { existsSync } from "node:fs";
import { join } from "node:path";
import { createOnce, readLine, readText, writeWhole } from "./files.ts";
import { bootId, isAlive, type ProcessIdentity } from "./process-table.ts";
import { type ContainerEnd, readJson } from "./records.ts";

/** In place of the claim of a keeper: there will be none. */
const FORSAKEN = "0 0 forsaken\n";

/** What the files of one container tell of it, and what is noted in them for whoever comes after. */
export class ContainerFiles {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  get areThere(): boolean {
    return existsSync(this.directory);
  }

  /** Whether somebody has begun to start it, or to give it up. */
  get isClaimed(): boolean {
    return readText(this.path("claim")) !== undefined;
  }

  /** A claim without its line is one that is being written, unless it stays so. */
  get isClaimWhole(): boolean {
    return readLine(this.path("claim")) !== undefined;
  }

  /** Takes the place of a keeper that has not come yet; false where one has. */
  claim(): boolean {
    return createOnce(this.path("claim"), `0 0 ${bootId()}\n`);
  }

  /** Unless it has been started, it never will be. */
  forsake(): boolean {
    return createOnce(this.path("claim"), FORSAKEN) || this.isForsaken;
  }

  get isForsaken(): boolean {
    return readText(this.path("claim")) === FORSAKEN;
  }

  /** The shell that stands by the container; undefined where it has ended, or not begun. */
  keeper(): ProcessIdentity | undefined {
    const [pid, started, boot] = readLine(this.path("claim"))?.line.split(" ") ?? [];
    if (pid === undefined || started === undefined || boot !== bootId()) return undefined;
    const identity = { pid: Number(pid), started };
    return isAlive(identity) ? identity : undefined;
  }

  /** A process that has noted itself, of whatever it became. */
  identity(name: "main" | "init"): ProcessIdentity | undefined {
    // After a restart of the machine the same pid and tick may be someone else's.
    if (readLine(this.path("claim"))?.line.split(" ")[2] !== bootId()) return undefined;
    const [pid, started] = readLine(this.path(name))?.line.split(" ") ?? [];
    return pid === undefined || started === undefined ? undefined : { pid: Number(pid), started };
  }

  /** When the program was started. */
  started(): { time: number } | undefined {
    return readLine(this.path("main"));
  }

  exit(): { line: string; time: number } | undefined {
    return readLine(this.path("exit"));
  }

  /** Notes how it ended, unless that is noted. */
  noteExit(line: string): void {
    createOnce(this.path("exit"), `${line}\n`);
  }

  /** Whether all of its output is in the raw files. */
  get isDrained(): boolean {
    return readLine(this.path("drained")) !== undefined;
  }

  /** Why the program could not be run. */
  problem(): string | undefined {
    return readText(this.path("problem"));
  }

  keeperLog(): string {
    return readText(this.path("keeper.log"))?.trim() ?? "";
  }

  end(): ContainerEnd | undefined {
    return readJson<ContainerEnd>(this.path("end.json"));
  }

  noteEnd(end: ContainerEnd): void {
    writeWhole(this.path("end.json"), JSON.stringify(end));
  }
}
