import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { act } from "./agent.ts";
import { usePage } from "./hooks.ts";

export interface Question {
  readonly title: string;
  readonly action: string;
  readonly verb: string;
  readonly danger?: boolean;
  readonly body: object;
  readonly children: ReactNode;
}

/** Asks before something is done, does it, and says what came of it. Escape and Cancel do nothing. */
export function Confirm({ question, onClose }: { question: Question; onClose: () => void }) {
  const { say } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>;
    setBusy(true);
    setRefusal("");
    try {
      say(await act(question.action, { ...question.body, ...given, ...("bothWays" in given && { bothWays: true }) }));
      dialog.current?.close();
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{question.title}</h2>
        <div className="dialog-body">{question.children}</div>
        {refusal !== "" && (
          <p className="refusal" role="alert">
            {refusal}
          </p>
        )}
        <div className="dialog-foot">
          <button type="button" className="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className={question.danger ? "button danger" : "button primary"} disabled={busy}>
            {busy ? "Working…" : question.verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** A button that asks first. Shown only where the agent lets viewers change things. */
export function AskButton({ label, question, icon }: { label: string; question: Question; icon?: ReactNode }) {
  const { snapshot } = usePage();
  const [open, setOpen] = useState(false);
  if (!snapshot.viewer.actions) return null;
  return (
    <>
      <button
        type="button"
        className={question.danger ? "button subtle-danger" : "button"}
        onClick={() => setOpen(true)}
      >
        {icon}
        {label}
      </button>
      {open && <Confirm question={question} onClose={() => setOpen(false)} />}
    </>
  );
}
