import { Contract, Peering, type Site } from "@fjord/api";
import { ifNotFound, type KubeClient } from "@fjord/kube";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { dataElsewhere } from "./claims-elsewhere.ts";
import { endsTheLast } from "./site-ties.ts";

/**
 * What goes with the contract of a peering that is not renewed, and when; undefined where nothing does, be it that another peering
 * with the site goes on. `isChanging`: other amounts are asked for, and make it another contract, with an end that nobody knows yet.
 */
export async function dataOfUnrenewed(
  client: KubeClient,
  peering: Peering,
  site: Site,
  { isChanging, signal }: { readonly isChanging: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const renewed = (await listOrExplain(client, Peering, signal)).filter(({ spec }) => spec.renew);
  if (!endsTheLast(peering.spec.site, [peering], [peering, ...renewed])) return undefined;
  const data = await dataElsewhere(client, [site], { signal });
  if (data === undefined) return undefined;
  const name = isChanging ? undefined : peering.status?.contract;
  const contract = name === undefined ? undefined : await client.get(Contract, { name }, { signal }).catch(ifNotFound);
  const end = contract === undefined ? "(`fjord status` says when)" : `at ${contract.spec.terms.notAfter}`;
  return `volumes at ${data.sites} are deleted with all that is in them when the contract ends ${end}: those of the claims ${data.claims}. Copy what is to be kept before that (\`kubectl cp\`), or have it renewed after all (--renew)`;
}
