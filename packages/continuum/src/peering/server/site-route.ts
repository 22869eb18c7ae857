import type { PeerRoute } from "../../peer-routes.ts";
import type {
  ContractReport,
  LoopbackFacts,
  NetworkFacts,
  PublishedFacts,
  Resources,
  SiteReport,
} from "../../protocol.ts";
import type { SiteId } from "../../site-identity.ts";

/** Where the parts of a report come from; asked for each request. */
export interface SiteReportSources {
  readonly id: SiteId;
  readonly publicKey?: string;
  published(): PublishedFacts;
  endpoints(): readonly string[];
  /** Told only to those that may consume. */
  shared?(): Resources | undefined;
  free?(): Resources | undefined;
  /** Told only to those that may consume. */
  readonly guestPrivileges?: readonly string[];
  /** The caller's contracts as consumer. */
  contractsOf(consumer: SiteId): readonly ContractReport[];
  /** Where there is to be a link with the caller. */
  networkFor?(site: SiteId): NetworkFacts | undefined;
  networkHeard?(site: SiteId): string | undefined;
  /** What stands for each introduction that the caller has made. */
  introductionsOf?(consumer: SiteId): SiteReport["introductions"];
  /** Where the agents carry connections between the two. */
  loopbackFor?(site: SiteId): LoopbackFacts | undefined;
}

/** `GET /fjord/v1/site`: the heartbeat of a peering. */
export function siteRoute(sources: SiteReportSources): PeerRoute {
  return {
    method: "GET",
    path: "/site",
    access: "peer",
    async handle({ caller }): Promise<SiteReport> {
      const mayConsume = caller.site?.spec?.mayConsume === true;
      const shared = mayConsume ? sources.shared?.() : undefined;
      const network = sources.networkFor?.(caller.id);
      const loopback = sources.loopbackFor?.(caller.id);
      const networkHeard = sources.networkHeard?.(caller.id);
      const introductions = mayConsume ? sources.introductionsOf?.(caller.id) : undefined;
      const free = mayConsume ? sources.free?.() : undefined;
      return {
        id: sources.id,
        ...(sources.publicKey === undefined ? {} : { publicKey: sources.publicKey }),
        published: sources.published(),
        endpoints: sources.endpoints(),
        ...(shared === undefined ? {} : { shared }),
        ...(free === undefined ? {} : { free }),
        ...(mayConsume && sources.guestPrivileges?.length ? { guestPrivileges: sources.guestPrivileges } : {}),
        contracts: sources.contractsOf(caller.id),
        ...(network && { network }),
        ...(loopback && { loopback }),
        ...(networkHeard !== undefined && { networkHeard }),
        ...(introductions && { introductions }),
      };
    },
  };
}
