import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Which containers were asked to start and have no answer yet, in files: when this process is killed, the runtime goes on,
 * and the next one knows what to wait for.
 */
export class OpenStarts {
  readonly #directory: string;
  readonly #socket: string;

  /** `socket`: of the runtime, which forgets what it was asked for when it starts anew, with a new socket. */
  constructor(directory: string, socket: string) {
    this.#directory = directory;
    this.#socket = socket;
    mkdirSync(directory, { recursive: true });
  }

  /** What an earlier process has left, of the runtime as it runs now; forgets all the rest. */
  takeOver(): string[] {
    const runtime = this.#runtime();
    return readdirSync(this.#directory).filter((id) => {
      if (runtime !== undefined && readFileSync(join(this.#directory, id), "utf8") === runtime) return true;
      this.close(id);
      return false;
    });
  }

  open(id: string): void {
    writeFileSync(join(this.#directory, id), this.#runtime() ?? "");
  }

  close(id: string): void {
    rmSync(join(this.#directory, id), { force: true });
  }

  #runtime(): string | undefined {
    const found = statSync(this.#socket, { bigint: true, throwIfNoEntry: false });
    return found && `${found.ino} ${found.ctimeNs}`;
  }
}
