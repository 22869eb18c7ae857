// The process that carries the network of a bed which outlives the command that started it.
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { type Logger, systemClock } from "@fjord/base";
import { readState } from "../state.ts";
import { openBedNetwork } from "./bed-network.ts";
import { controlServer } from "./control.ts";
import { NetworkSettings } from "./settings.ts";
import { networkSocket } from "./socket.ts";

const [directory = ""] = process.argv.slice(2);
const state = readState(directory);
if (state === undefined) throw new Error(`no test bed in ${directory}`);
const socket = networkSocket(state);
const line = (message: string, fields = {}) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
const log: Logger = { debug() {}, info: line, warn: line, error: line };
const settings = new NetworkSettings(directory);
const network = await openBedNetwork(state.sites, systemClock, Math.random, (fresh) => settings.restore(fresh, log));
// A predecessor that was killed has left it.
rmSync(socket, { force: true });
const server = controlServer(network, () => settings.save(network)).listen(socket);
await once(server, "listening");
chmodSync(socket, 0o600);
const [signal] = await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
process.stderr.write(`ending on ${signal}\n`);
server.close();
await network.close();
