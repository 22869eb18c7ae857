import { defineError } from "@fjord/base";

export const NftablesRefused = defineError(
  "NFTABLES_REFUSED",
  "nft does not take the rules for Services: {reason}",
  "The package nftables is needed, and the right to change the network (root); without either, use `--services userspace`.",
);

export const DnsNotServed = defineError(
  "DNS_NOT_SERVED",
  "the cluster's DNS cannot be served at {address}: {reason}",
  "Choose another address by `--serve-dns ADDRESS:PORT`; ports below 1024 need privileges.",
);
