import { spawn } from "node:child_process";
import { NodeCommandError } from "./errors.ts";
/** Runs a short command to its end and gives its output; its own words are in the error. */
export function runCommand(file, args, options) {
    return new Promise((resolve, reject) => {
        const child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], signal: options.signal });
        let output = "";
        let errors = "";
        child.stdout.setEncoding("utf8").on("data", (text) => {
            output += text;
        });
        child.stderr.setEncoding("utf8").on("data", (text) => {
            errors += text;
        });
        // A command that ends before it has read everything says why itself.
        child.stdin.on("error", () => { });
        child.stdin.end(options.input ?? "");
        const failed = (outcome, cause) => {
            const values = {
                what: options.what,
                command: [file, ...args].join(" "),
                outcome,
                output: (errors || output).trim(),
            };
            reject(new NodeCommandError(values, cause && { cause }));
        };
        child.on("error", (error) => options.signal?.aborted ? reject(options.signal.reason) : failed(error.message, error));
        child.on("close", (code, signal) => code === 0 ? resolve(output) : failed(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
}
