import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef, useState } from "react";
import { terminalUrl } from "./agent.ts";

/** A shell in a container. */
export function TerminalView({ query }: { query: { namespace: string; pod: string; container: string } }) {
  const box = useRef<HTMLDivElement>(null);
  const [state, setState] = useState("connecting…");
  const { namespace, pod, container } = query;
  useEffect(() => {
    if (box.current === null) return;
    return openTerminal(box.current, terminalUrl({ namespace, pod, container }), setState);
  }, [namespace, pod, container]);
  return (
    <>
      <p className="console-tools quiet" role="status">
        {pod} · {state}
      </p>
      <div className="shell" ref={box} />
    </>
  );
}

function openTerminal(element: HTMLElement, url: string, tell: (state: string) => void): () => void {
  const terminal = new Terminal({
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    fontSize: 13,
    theme: { background: "#071014", foreground: "#d7e6ea", cursor: "#6fd3dc", selectionBackground: "#28505c" },
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withNonce(() => terminal.open(element));
  fit.fit();
  terminal.focus();
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const sendSize = () => {
    if (socket.readyState === WebSocket.OPEN)
      socket.send(JSON.stringify({ size: { width: terminal.cols, height: terminal.rows } }));
  };
  socket.addEventListener("open", () => {
    tell("connected");
    sendSize();
  });
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return terminal.write(new Uint8Array(data as ArrayBuffer));
    const { ended = "" } = JSON.parse(data) as { ended?: string };
    tell(ended);
  });
  socket.addEventListener("close", ({ code }) => {
    if (code !== 1000) tell("not connected: the shell was refused, or the agent went away");
  });
  const encoder = new TextEncoder();
  const typed = terminal.onData((text) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(encoder.encode(text));
  });
  const sized = terminal.onResize(sendSize);
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(element);
  return () => {
    observer.disconnect();
    sized.dispose();
    typed.dispose();
    socket.close();
    terminal.dispose();
  };
}

/** The terminal makes style elements, which the page's policy lets in only with its nonce. */
function withNonce(open: () => void): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
  const create = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (name === "style") element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
  try {
    open();
  } finally {
    document.createElement = create;
  }
}
