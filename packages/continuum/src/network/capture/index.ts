export { CAPTURE_LIMITS, CAPTURE_PROTOCOLS, type CaptureProtocol, type CaptureRequest } from "./capture-request.ts";
export { CAPTURE_PATH, CAPTURE_TRAILER } from "./capture-route.ts";
export type { CapturedPacket } from "./captured-packet.ts";
export type { CaptureEnd, CaptureSummary } from "./captures.ts";
export { InvalidCapture } from "./errors.ts";
export { packetLine } from "./packet-line.ts";
export { PcapReader, pcapHeader, pcapRecord } from "./pcap.ts";
