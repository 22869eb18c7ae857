import { useEffect, useRef, useState } from "react";
import { logOf } from "./agent.ts";

/** The last lines are kept; whoever wants more has kubectl. */
const MOST_LINES = 2_000;
const STAMP = /^(\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\S*) (.*)$/;

interface Line {
  readonly key: number;
  readonly time: string;
  readonly text: string;
}

export function LogView({ query }: { query: { namespace: string; pod: string; container: string } }) {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [end, setEnd] = useState("");
  const [text, setText] = useState("");
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const { namespace, pod, container } = query;
  useEffect(() => {
    const stop = new AbortController();
    setLines([]);
    setEnd("");
    void read({ namespace, pod, container }, stop.signal, setLines, setEnd);
    return () => stop.abort();
  }, [namespace, pod, container]);
  useEffect(() => {
    if (follow && lines.length > 0) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [lines, follow]);
  const wanted = text.toLowerCase();
  const shown = wanted === "" ? lines : lines.filter((line) => line.text.toLowerCase().includes(wanted));
  return (
    <>
      <div className="console-tools">
        <label>
          <span className="unseen">Only lines with</span>
          <input
            type="search"
            placeholder="Only lines with…"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <label className="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow
        </label>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <div className="log" ref={box} role="log" aria-label={`Log of ${pod}`} tabIndex={0}>
        {shown.map(({ key, time, text: line }) => (
          <div key={key}>
            <time>{time}</time>
            <span>{line}</span>
          </div>
        ))}
        {end !== "" && <p className="log-end">{end}</p>}
        {end === "" && lines.length === 0 && <p className="log-end">Nothing was written yet.</p>}
      </div>
    </>
  );
}

async function read(
  query: Record<string, string>,
  signal: AbortSignal,
  setLines: (change: (before: readonly Line[]) => readonly Line[]) => void,
  setEnd: (text: string) => void,
): Promise<void> {
  let rest = "";
  let key = 0;
  try {
    for await (const piece of logOf(query, signal)) {
      const parts = (rest + piece).split("\n");
      rest = parts.pop() ?? "";
      const fresh = parts.map((part): Line => {
        const [, , time = "", text = part] = STAMP.exec(part) ?? [];
        return { key: key++, time, text };
      });
      setLines((before) => [...before, ...fresh].slice(-MOST_LINES));
    }
    if (!signal.aborted) setEnd("The container writes no more.");
  } catch (error) {
    if (!signal.aborted) setEnd(error instanceof Error ? error.message : String(error));
  }
}
