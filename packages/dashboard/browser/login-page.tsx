import { type FormEvent, useState } from "react";
import { logIn } from "./agent.ts";
import { Mark } from "./icons.tsx";

export function LoginPage({ refusal, onLogin }: { refusal: string; onLogin: (user: string) => void }) {
  const [problem, setProblem] = useState(refusal);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = String(new FormData(event.currentTarget).get("token") ?? "");
    setBusy(true);
    try {
      onLogin(await logIn({ token }));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main className="login">
      <form onSubmit={submit}>
        <Mark />
        <h1>Fjord</h1>
        <p>
          Give a token of the site’s Kubernetes, as <code>kubectl create token</code> makes it. You see and do what its
          RBAC lets you.
        </p>
        <label>
          Bearer token
          <input type="password" name="token" required autoComplete="off" />
        </label>
        {problem !== "" && (
          <p className="refusal" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="button primary" disabled={busy}>
          Log in
        </button>
      </form>
    </main>
  );
}
