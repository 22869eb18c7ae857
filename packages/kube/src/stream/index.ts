export { ChannelSocket, type ChannelSocketOptions, type Ending } from "./channel-socket.ts";
export * from "./errors.ts";
export { type AttachOptions, attach, type ContainerTarget, type ExecOptions, exec } from "./exec.ts";
export { exitCodeOf } from "./exit-status.ts";
export type { StreamOptions } from "./open-socket.ts";
export { type PortForwardOptions, portForward } from "./port-forward.ts";
export { type ListenOptions, listenPortForward, type PortForwardListener } from "./port-forward-listener.ts";
export type { CommandResult, CommandStreams, TerminalSize } from "./remote-command.ts";
