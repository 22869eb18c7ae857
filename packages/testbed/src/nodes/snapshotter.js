import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./command.ts";
import { NodeCommandError } from "./errors.ts";
/** How containerd can lay an image's layers over each other on this file system: by copying where nothing better works. */
export async function availableSnapshotter(directory) {
    const trial = await mkdtemp(join(directory, "overlay-"));
    try {
        for (const folder of ["lower", "upper", "work", "merged"])
            await mkdir(join(trial, folder));
        // In a mount namespace of its own, so that there is nothing to unmount.
        const mount = 'cd "$1" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged';
        await runCommand("unshare", ["--mount", "--", "sh", "-c", mount, "sh", trial], { what: "try an overlay mount" });
        return "overlayfs";
    }
    catch (error) {
        if (error instanceof NodeCommandError)
            return "native";
        throw error;
    }
    finally {
        await rm(trial, { recursive: true, force: true });
    }
}
