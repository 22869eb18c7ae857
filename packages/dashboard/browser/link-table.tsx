import type { LinkView } from "@fjord/agent/page-model";
import { Link } from "wouter";
import { AskButton } from "./dialog.tsx";
import { amountText, share, sinceText } from "./format.ts";
import { useNow } from "./hooks.ts";
import { Empty, LinkChip } from "./parts.tsx";
import { sitePath } from "./paths.ts";
import { standingQuestion } from "./questions.tsx";

/** Who uses whom, how much of it, and until when. */
export function LinkTable({ links, self }: { links: readonly LinkView[]; self: string }) {
  const now = useNow(10_000);
  if (links.length === 0) return <Empty>Nothing is agreed with any site yet.</Empty>;
  return (
    <ul className="agreements">
      {links.map((link) => {
        const gives = link.provider === self;
        const other = gives ? link.consumer : link.provider;
        const left = Date.parse(link.notAfter ?? "") - now;
        return (
          <li key={`${link.peering} ${link.contract}`}>
            <div className="agreement-head">
              <span className={gives ? "direction gives" : "direction uses"}>{gives ? "gives to" : "uses"}</span>
              <Link href={sitePath(other)}>{other}</Link>
              <LinkChip state={link.state} />
            </div>
            <div className="agreement-amounts">
              {["cpu", "memory", "pods"].map((name) =>
                link.resources[name] === undefined ? null : (
                  <span key={name} className="mini">
                    <span className="mini-name">{name === "memory" ? "mem" : name}</span>
                    <span className="bar">
                      <span
                        className="fill"
                        style={{ width: `${share(link.used[name], link.resources[name]) * 100}%` }}
                      />
                    </span>
                    <span className="numbers">
                      {amountText(name, link.used[name] ?? 0)} / {amountText(name, link.resources[name])}
                    </span>
                  </span>
                ),
              )}
            </div>
            {link.state !== "open" && link.message !== "" && <p className="note">{link.message}</p>}
            <div className="agreement-foot">
              <span className="quiet">
                {link.contract ?? "no contract yet"}
                {link.node !== undefined && ` · node ${link.node}`}
                {Number.isFinite(left) && left > 0 && ` · renews within ${sinceText(link.notAfter, now)}`}
              </span>
              {link.contract !== undefined && link.state !== "ended" && <Standings link={link} />}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

function Standings({ link }: { link: LinkView }) {
  const isOpen = link.standing === "Open";
  return (
    <span className="buttons">
      {isOpen && <AskButton label="Cordon" question={standingQuestion("cordon", link)} />}
      {!isOpen && <AskButton label="Uncordon" question={standingQuestion("uncordon", link)} />}
      {link.standing !== "Drained" && <AskButton label="Drain" question={standingQuestion("drain", link)} />}
    </span>
  );
}
