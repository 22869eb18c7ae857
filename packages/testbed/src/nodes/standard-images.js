import { readFile } from "node:fs/promises";
import { runCommand } from "./command.ts";
import { busyboxImage, coreDnsImage, pauseImage, requestedImage } from "./images.ts";
/** Makes images from the machine's static busybox and from CoreDNS; what was made once is kept. */
export class ImageMaker {
    #busyboxFile;
    #coreDnsFile;
    #busybox;
    #standard;
    constructor(busyboxFile, coreDnsFile) {
        this.#busyboxFile = busyboxFile;
        this.#coreDnsFile = coreDnsFile;
    }
    /** Those that every node holds, small ones first. */
    standard() {
        this.#standard ??= this.#makeStandard();
        return this.#standard;
    }
    async make(request) {
        return requestedImage(request, await this.#readBusybox());
    }
    async #makeStandard() {
        const [busybox, coreDns] = await Promise.all([this.#readBusybox(), readFile(this.#coreDnsFile)]);
        return [pauseImage(busybox), busyboxImage(busybox), coreDnsImage(coreDns)];
    }
    #readBusybox() {
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
