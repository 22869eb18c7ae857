import { readFile } from "node:fs/promises";
import { runCommand } from "./command.ts";
import { type Busybox, busyboxImage, coreDnsImage, type ImageRequest, pauseImage, requestedImage } from "./images.ts";
import type { OciImage } from "./oci-image.ts";

/** Makes images from the machine's static busybox and from CoreDNS; what was made once is kept. */
export class ImageMaker {
  readonly #busyboxFile: string;
  readonly #coreDnsFile: string;
  #busybox: Promise<Busybox> | undefined;
  #standard: Promise<readonly OciImage[]> | undefined;

  constructor(busyboxFile: string, coreDnsFile: string) {
    this.#busyboxFile = busyboxFile;
    this.#coreDnsFile = coreDnsFile;
  }

  /** Those that every node holds, small ones first. */
  standard(): Promise<readonly OciImage[]> {
    this.#standard ??= this.#makeStandard();
    return this.#standard;
  }

  async make(request: ImageRequest): Promise<OciImage> {
    return requestedImage(request, await this.#readBusybox());
  }

  async #makeStandard(): Promise<readonly OciImage[]> {
    const [busybox, coreDns] = await Promise.all([this.#readBusybox(), readFile(this.#coreDnsFile)]);
    return [pauseImage(busybox), busyboxImage(busybox), coreDnsImage(coreDns)];
  }

  #readBusybox(): Promise<Busybox> {
    this.#busybox ??= (async () => {
      const [program, list] = await Promise.all([
        readFile(this.#busyboxFile),
        runCommand(this.#busyboxFile, ["--list"], { what: "list the commands of busybox" }),
      ]);
      return { program, commands: list.split("\n").filter((command) => command !== "") };
    })();
    return this.#busybox;
  }
}
