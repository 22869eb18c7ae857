import type { LinkView, SiteView, WorkloadView } from "@fjord/agent/page-model";
import type { Question } from "./dialog.tsx";
import { plural } from "./format.ts";

/** The actions of the page, each with what it will do, in words. */

export function peerQuestion(): Question {
  return {
    title: "Peer with another site",
    action: "peer",
    verb: "Peer",
    body: {},
    children: (
      <>
        <p>
          Pairs with the site that made the token, and asks it for a slice, which becomes a node here. The other owner
          makes a token with <code>fjord pair token</code>.
        </p>
        <label>
          Pairing token
          <textarea name="token" rows={4} required spellCheck={false} autoComplete="off" />
        </label>
        <div className="fields">
          <label>
            Processors
            <input name="cpu" defaultValue="2" inputMode="decimal" />
          </label>
          <label>
            Memory
            <input name="memory" defaultValue="4Gi" />
          </label>
          <label>
            Pods
            <input name="pods" defaultValue="50" inputMode="numeric" />
          </label>
        </div>
        <label className="check">
          <input type="checkbox" name="bothWays" /> Let the other site use this one too, as far as it shares
        </label>
      </>
    ),
  };
}

const STANDINGS = {
  cordon: ["Cordon", "No new pods are taken under it. Those that run stay."],
  drain: ["Drain", "No new pods are taken under it, and those that run are evicted."],
  uncordon: ["Open", "Pods are taken again."],
} as const;

export function standingQuestion(action: keyof typeof STANDINGS, link: LinkView): Question {
  const [verb, effect] = STANDINGS[action];
  return {
    title: `${verb} contract ${link.contract}?`,
    action,
    verb,
    danger: action === "drain",
    body: { contract: link.contract },
    children: (
      <p>
        Between {link.consumer} (uses) and {link.provider} (gives). {effect} The other side is told.
      </p>
    ),
  };
}

export function moveQuestion(workload: WorkloadView, sites: readonly SiteView[], self: string): Question {
  const { namespace, kind, name } = workload;
  const others = sites.filter((site) => site.name !== self);
  return {
    title: `Move ${name}`,
    action: "move",
    verb: "Move",
    body: { namespace, kind, name },
    children: (
      <>
        <p>
          Changes where the pods of {kind} {name} may run. {plural(workload.pods, "pod")} will be replaced as in any
          rollout.
        </p>
        <fieldset className="choices">
          <legend>Where to</legend>
          <label>
            <input type="radio" name="to" value="home" defaultChecked /> This site ({self})
          </label>
          {others.map((site) => (
            <label key={site.name}>
              <input type="radio" name="to" value={site.name} disabled={site.health === "lost"} /> {site.name}
              {site.health === "lost" && <span className="quiet"> unreachable</span>}
            </label>
          ))}
          <label>
            <input type="radio" name="to" value="anywhere" /> Wherever the scheduler likes
          </label>
        </fieldset>
      </>
    ),
  };
}

export function cutQuestion(site: SiteView, cut: boolean): Question {
  return {
    title: cut ? `Cut ${site.name} off?` : `Connect ${site.name} again?`,
    action: cut ? "cut" : "heal",
    verb: cut ? "Cut off" : "Connect",
    danger: cut,
    body: { site: site.name },
    children: (
      <p>
        {cut
          ? "The demo lets nothing through between it and the others any more. What runs there goes on; here it will be shown as unreachable within seconds."
          : "The demo lets everything through again."}
      </p>
    ),
  };
}
