import type { Runtime } from "../../runtime/index.ts";
import type { Container, Probe } from "../pod-containers.ts";
import { probeExec } from "./exec-probe.ts";
import { probeGrpc } from "./grpc-probe.ts";
import { probeHttp } from "./http-probe.ts";
import { httpTarget, portNumber } from "./http-target.ts";
import type { ProbeResult } from "./probe-result.ts";
import { probeTcp } from "./tcp-probe.ts";

/** What is probed. */
export interface ProbedContainer {
  readonly runtime: Pick<Runtime, "exec" | "execSync" | "probe">;
  readonly id: string;
  readonly spec: Container;
  readonly podIP: string;
}

/** Tries a probe once; the signal is its timeout. */
export async function tryProbe(probe: Probe, probed: ProbedContainer, signal: AbortSignal): Promise<ProbeResult> {
  const { exec, httpGet, tcpSocket, grpc } = probe;
  const { runtime, id, spec, podIP } = probed;
  try {
    if (exec !== undefined)
      return await probeExec(runtime, id, exec.command ?? [], (probe.timeoutSeconds ?? 1) * 1000, signal);
    if (httpGet !== undefined) return await probeHttp(httpTarget(httpGet, spec, podIP, "probe"), signal);
    if (tcpSocket !== undefined) {
      return await probeTcp(tcpSocket.host || podIP, portNumber(tcpSocket.port, spec), signal);
    }
    if (grpc !== undefined) return await probeGrpc(podIP, grpc.port, grpc.service ?? "", signal);
  } catch (error) {
    return { outcome: "error", message: (error as Error).message };
  }
  return { outcome: "error", message: "missing probe handler" };
}
