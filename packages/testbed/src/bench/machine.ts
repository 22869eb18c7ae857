import { arch, availableParallelism, cpus, platform, release, totalmem } from "node:os";

/** The machine in a line, as it stands beside published figures. */
export function describeMachine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model.trim() || "unknown processor";
  return `${availableParallelism()} cores (${model}), ${memory} GB, ${platform()} ${release()} ${arch()}, Node ${process.versions.node}`;
}
