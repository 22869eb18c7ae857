import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { logOut, whoAmI } from "./agent.ts";
import { ContinuumPage } from "./continuum-page.tsx";
import { spanText } from "./format.ts";
import { Page, type PageContext, useNow } from "./hooks.ts";
import { Icon, Mark } from "./icons.tsx";
import { LiveStore } from "./live.ts";
import { partOfPath } from "./paths.ts";
import { SitePage } from "./site-page.tsx";
import { ThemeButton } from "./theme.tsx";
import { WorkloadPage } from "./workload-page.tsx";
import { WorkloadsPage } from "./workloads-page.tsx";

/** The page for someone who is logged in. */
export function App({ onLeave }: { onLeave: () => void }) {
  const store = useMemo(
    () =>
      new LiveStore(
        () =>
          void whoAmI().then(
            (user) => user ?? onLeave(),
            () => {},
          ),
      ),
    [onLeave],
  );
  const live = useSyncExternalStore(store.subscribe, store.read);
  const [said, setSaid] = useState<{ sentence: string; isError: boolean }>();
  useEffect(() => () => store.close(), [store]);
  useEffect(() => store.look({}), [store]);
  useEffect(() => {
    if (said === undefined) return;
    const timer = setTimeout(() => setSaid(undefined), 6_000);
    return () => clearTimeout(timer);
  }, [said]);
  const look = useCallback<PageContext["look"]>((focus) => store.look(focus), [store]);
  const say = useCallback<PageContext["say"]>((sentence, isError = false) => setSaid({ sentence, isError }), []);
  const { snapshot } = live;
  const context = useMemo(() => (snapshot === undefined ? undefined : { snapshot, look, say }), [snapshot, look, say]);
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <TopBar
        self={snapshot?.self ?? ""}
        user={snapshot?.viewer.user ?? ""}
        connected={live.connected}
        onLeave={onLeave}
      />
      {!live.connected && snapshot !== undefined && <Stale since={live.heardAt} />}
      <main id="main" tabIndex={-1}>
        {context === undefined ? <Loading /> : <Page value={context}>{<Pages />}</Page>}
        {snapshot !== undefined && snapshot.viewer.hidden.length > 0 && (
          <p className="quiet hidden-parts">RBAC keeps from you: {snapshot.viewer.hidden.join(", ")}.</p>
        )}
      </main>
      <div className="sayings" role="status" aria-live="polite">
        {said !== undefined && <p className={said.isError ? "is-error" : ""}>{said.sentence}</p>}
      </div>
    </>
  );
}

function Pages() {
  return (
    <Switch>
      <Route path="/" component={ContinuumPage} />
      <Route path="/sites/:name">{({ name }) => <SitePage key={name} name={partOfPath(name)} />}</Route>
      <Route path="/workloads" component={WorkloadsPage} />
      <Route path="/workloads/:namespace/:kind/:name">
        {({ namespace, kind, name }) => {
          const id = [namespace, kind, name].map(partOfPath).join("/");
          return <WorkloadPage key={id} id={id} />;
        }}
      </Route>
      <Route>
        <h1>There is nothing here</h1>
        <p>
          <Link href="/">To the continuum</Link>
        </p>
      </Route>
    </Switch>
  );
}

interface TopBarProps {
  readonly self: string;
  readonly user: string;
  readonly connected: boolean;
  readonly onLeave: () => void;
}

function TopBar({ self, user, connected, onLeave }: TopBarProps) {
  const [path] = useLocation();
  const pages = [
    { href: "/", words: "Continuum", here: path === "/" || path.startsWith("/sites") },
    { href: "/workloads", words: "Workloads", here: path.startsWith("/workloads") },
  ];
  return (
    <header className="top">
      <Link href="/" className="brand" aria-label="Fjord, to the continuum">
        <Mark />
        <span>
          Fjord<small>{self}</small>
        </span>
      </Link>
      <nav aria-label="Pages">
        {pages.map(({ href, words, here }) => (
          <Link key={href} href={href} aria-current={here ? "page" : undefined}>
            {words}
          </Link>
        ))}
      </nav>
      <span className={connected ? "live is-live" : "live"}>
        <span className="dot" />
        {connected ? "Live" : "Not live"}
      </span>
      <ThemeButton />
      <button
        type="button"
        className="icon-button"
        aria-label={`Log out ${user}`}
        title={user}
        onClick={() => void logOut().finally(onLeave)}
      >
        <Icon name="leave" />
      </button>
    </header>
  );
}

function Stale({ since }: { since: number }) {
  const now = useNow();
  return (
    <div className="stale" role="alert">
      No connection to the agent. What is shown is from <span className="numbers">{spanText(now - since)}</span> ago; it
      is tried again by itself.
    </div>
  );
}

function Loading() {
  return (
    <p className="empty" role="status">
      Asking the agent…
    </p>
  );
}
