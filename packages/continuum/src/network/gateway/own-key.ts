import { type Clock, type Logger, sleep, steadyNow, TokenBucket } from "@fjord/base";
import { RecentMap } from "@fjord/kube";
import { MOST_LANES } from "../fabric/lanes.ts";
import { publicHalf } from "../link-key.ts";
import type { Gateway } from "./gateway.ts";
import { KeyTurn } from "./key-turn.ts";
import { type KeyWord, readKeyWord, writeKeyWord } from "./key-words.ts";
import type { LinkProbe } from "./link-probe.ts";

export interface OwnKeyOptions {
  readonly gateway: Pick<Gateway, "usedKey" | "turnKey" | "peerAsks" | "peerTurns">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Says and hears over one lane. */
export type KeyVoice = Pick<LinkProbe, "say" | "onSaid" | "answeredAt">;

/** Peers look for longer than that whether anything still comes by the key of before. */
const HEARD_MS = 30;

/** What is said twice within this time is one word. */
const TURN_MS = 1_000;
/** Gateways ask ten times a second. */
const ASKED_AGAIN_MS = 80;
/** All that a gateway does waits until a peer sends nothing more by its key of before: nobody has that more often than for each of its lanes, now and then. */
const TURNS = { burst: MOST_LANES, perSecond: 0.2 } as const;
/** All of them together: one consumer may have introduced 128. Who comes too late has its ranges at the new key as soon as there is a session by it. */
const ALL_TURNS = { burst: 2 * MOST_LANES, perSecond: 0.5 } as const;
const MOST_PEERS = 4096;

/** Those who have a link, by lane. */
export type Linked = ReadonlyMap<number, readonly string[]>;

/**
 * Which key a gateway uses while its site has another one: the one of before, until peers know the new one. Then it says that it takes it, over each
 * link, and does; and peers have its ranges at the new key a moment later. Nobody but the two gateways is needed for that moment.
 */
export class OwnKey {
  readonly #options: OwnKeyOptions;
  readonly #voices = new Map<number, KeyVoice>();
  #siteId = "";
  #wanted = "";
  #used = "";
  #turn: KeyTurn | undefined;
  /** Those who have not said yet that they have heard that another key is taken. */
  #unheard = new Set<string>();
  #allHeard: () => void = () => {};
  /** By lane and site: when it last said that it takes a key. */
  readonly #turnedAt = new Map<string, number>();
  /** By site, whose link may have gone and come back. */
  readonly #turns = new RecentMap<TokenBucket>(MOST_PEERS);
  readonly #allTurns: TokenBucket;
  /** By lane and site: those whose question is looked at. */
  readonly #asking = new Set<string>();

  constructor(options: OwnKeyOptions) {
    this.#options = options;
    this.#allTurns = new TokenBucket({ ...ALL_TURNS, clock: options.clock });
  }

  /** Hears what peers say over a lane. */
  attach(lane: number, voice: KeyVoice): void {
    this.#voices.set(lane, voice);
    voice.onSaid((siteId, bytes) => {
      const word = readKeyWord(bytes);
      if (word !== undefined) void this.#hear(lane, siteId, word).catch(() => {});
    });
  }

  /** The private key to apply, where the site's is `wanted`; both in base64. */
  async using(wanted: string): Promise<string> {
    this.#wanted = wanted;
    this.#used = (await this.#options.gateway.usedKey()) ?? wanted;
    if (this.#used === wanted) this.#turn = undefined;
    else this.#turn ??= new KeyTurn(steadyNow(this.#options.clock));
    return this.#used;
  }

  get isTurning(): boolean {
    return this.#turn !== undefined;
  }

  /** The public half of the key that is to be used next, where that is another one. */
  get next(): string | undefined {
    return this.#turn === undefined ? undefined : publicHalf(this.#wanted);
  }

  /** Asks peers, and takes the key once they know it. Whether it was taken. */
  async step(siteId: string, linked: Linked): Promise<boolean> {
    const { clock, gateway, logger } = this.#options;
    this.#siteId = siteId;
    this.#keepOnly(linked);
    const turn = this.#turn;
    if (turn === undefined) return false;
    const key = Buffer.from(publicHalf(this.#wanted), "base64").toString("hex");
    const heardAt = new Map(
      [...linked].flatMap(([lane, sites]) =>
        sites.map((site) => [`${lane} ${site}`, this.#voices.get(lane)?.answeredAt(site)] as const),
      ),
    );
    const say = (says: "ask" | "take") => {
      for (const [lane, sites] of linked)
        for (const site of sites) this.#voices.get(lane)?.say(site, writeKeyWord({ says, key }));
    };
    if (!turn.isReady(steadyNow(clock), heardAt)) {
      say("ask");
      return false;
    }
    await gateway.turnKey(this.#wanted, async () => {
      this.#unheard = new Set([...heardAt].flatMap(([who, at]) => (at === undefined ? [] : [who])));
      const heard = new AbortController();
      this.#allHeard = () => heard.abort();
      // What is lost once is not lost twice, most times.
      for (let i = 0; i < 2; i++) say("take");
      if (this.#unheard.size > 0) await sleep(clock, HEARD_MS, heard.signal);
    });
    this.#turn = undefined;
    logger.info("the key of this site's links is another one now", { peers: heardAt.size });
    return true;
  }

  /** Of others nothing is remembered: any number of sites may come and go that a consumer introduces. */
  #keepOnly(linked: Linked): void {
    const sites = new Set([...linked.values()].flat());
    for (const who of this.#turnedAt.keys())
      if (!sites.has(who.slice(who.indexOf(" ") + 1))) this.#turnedAt.delete(who);
  }

  async #hear(lane: number, siteId: string, { says, key }: KeyWord): Promise<void> {
    const { gateway, clock } = this.#options;
    const answer = (word: KeyWord["says"]) => this.#voices.get(lane)?.say(siteId, writeKeyWord({ says: word, key }));
    const who = `${lane} ${siteId}`;
    if (says === "take") {
      answer("heard");
      const now = steadyNow(clock);
      if (now - (this.#turnedAt.get(who) ?? Number.NEGATIVE_INFINITY) < TURN_MS) return;
      this.#turnedAt.set(who, now);
      const turns = this.#turns.getOrMake(siteId, () => new TokenBucket({ ...TURNS, clock }));
      if (!turns.tryTake() || !this.#allTurns.tryTake()) return;
      await gateway.peerTurns(siteId, lane, key);
    } else if (says === "heard") {
      if (this.#unheard.delete(who) && this.#unheard.size === 0) this.#allHeard();
    } else if (says !== "ask") this.#turn?.answered(who, says, steadyNow(clock));
    // Of two that ask each other, one is first.
    else if (this.#turn !== undefined && this.#siteId < siteId) answer("later");
    // It asks again.
    else if (!this.#asking.has(who)) answer((await this.#mayTake(lane, siteId, key)) ? "known" : "unknown");
  }

  /** Whether it may take a key; one question at a time, and no sooner than gateways ask: for each WireGuard is looked at, with all its peers. */
  async #mayTake(lane: number, siteId: string, key: string): Promise<boolean> {
    const { gateway, clock } = this.#options;
    const who = `${lane} ${siteId}`;
    this.#asking.add(who);
    const isOver = () => this.#asking.delete(who);
    return await gateway.peerAsks(siteId, lane, key).finally(() => clock.after(ASKED_AGAIN_MS, isOver));
  }
}
