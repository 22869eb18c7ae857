import "@xterm/xterm/css/xterm.css";
import "./styles.css";
import { StrictMode, useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { logIn, whoAmI } from "./agent.ts";
import { App } from "./app.tsx";
import { LoginPage } from "./login-page.tsx";

type Visit = { readonly state: "asking" | "in" } | { readonly state: "out"; readonly refusal: string };

function Start() {
  const [visit, setVisit] = useState<Visit>({ state: "asking" });
  const leave = useCallback(() => setVisit({ state: "out", refusal: "" }), []);
  useEffect(() => {
    arrive().then(setVisit);
  }, []);
  if (visit.state === "in") return <App onLeave={leave} />;
  if (visit.state === "out") return <LoginPage refusal={visit.refusal} onLogin={() => setVisit({ state: "in" })} />;
  return null;
}

/** By the code of a link where there is one, which is then taken out of the address; by a session of before otherwise. */
async function arrive(): Promise<Visit> {
  try {
    if (code !== undefined) await logIn({ code });
    return (await whoAmI()) === undefined ? { state: "out", refusal: "" } : { state: "in" };
  } catch (error) {
    return { state: "out", refusal: error instanceof Error ? error.message : String(error) };
  }
}

const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
if (code !== undefined) history.replaceState(null, "", location.pathname);
const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;

const element = document.getElementById("page");
if (element !== null) {
  createRoot(element).render(
    <StrictMode>
      <Start />
    </StrictMode>,
  );
}
