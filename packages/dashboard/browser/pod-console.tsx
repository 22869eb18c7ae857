import type { PodView } from "@fjord/agent/page-model";
import { lazy, Suspense, useId, useState } from "react";
import { usePage } from "./hooks.ts";
import { LogView } from "./log-view.tsx";

// The terminal is half of the whole page, and few open one.
const Terminal = lazy(() => import("./terminal-view.tsx").then(({ TerminalView }) => ({ default: TerminalView })));

interface ConsoleProps {
  readonly pod: PodView;
  readonly pods: readonly PodView[];
  readonly onChoose: (name: string) => void;
}

/** The log of a container, and a shell in it. */
export function PodConsole({ pod, pods, onChoose }: ConsoleProps) {
  const { snapshot } = usePage();
  const [tab, setTab] = useState<"log" | "terminal">("log");
  const [container, setContainer] = useState(pod.containers[0]?.name ?? "");
  const id = useId();
  const query = { namespace: pod.namespace, pod: pod.name, container };
  const tabs = [
    { name: "log", words: "Logs" },
    ...(snapshot.viewer.actions ? [{ name: "terminal", words: "Terminal" }] : []),
  ] as const;
  return (
    <section className="panel console" aria-label="Logs and terminal">
      <header className="panel-head">
        <div role="tablist" aria-label="Of the pod">
          {tabs.map(({ name, words }, index) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${name}`}
              aria-selected={tab === name}
              aria-controls={`${id}-panel`}
              tabIndex={tab === name ? 0 : -1}
              onClick={() => setTab(name as typeof tab)}
              onKeyDown={(event) => {
                if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
                const next = tabs[(index + 1) % tabs.length];
                if (next === undefined) return;
                setTab(next.name as typeof tab);
                document.getElementById(`${id}-${next.name}`)?.focus();
              }}
            >
              {words}
            </button>
          ))}
        </div>
        <div className="console-choice">
          <label>
            <span className="unseen">Pod</span>
            <select value={pod.name} onChange={(event) => onChoose(event.target.value)}>
              {pods.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <label>
            <span className="unseen">Container</span>
            <select value={container} onChange={(event) => setContainer(event.target.value)}>
              {pod.containers.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
      </header>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {tab === "log" ? (
          <LogView key={container} query={query} />
        ) : (
          <Suspense fallback={<p className="empty">Loading the terminal…</p>}>
            <Terminal key={container} query={query} />
          </Suspense>
        )}
      </div>
    </section>
  );
}
