import { defineError } from "@fjord/base";

export const UnknownIndex = defineError(
  "KUBE_UNKNOWN_INDEX",
  "cannot look objects up by index {index}: the cache was made without it (it has: {known})",
  "Name the index in the cache's `indexers`, where the cache is made.",
);

export const IndexTaken = defineError(
  "KUBE_INDEX_TAKEN",
  "cannot add index {index}: the cache has another one of that name",
  "Choose another name, or share the indexer function itself.",
);

export const WatchContradiction = defineError(
  "KUBE_WATCH_CONTRADICTION",
  "the watch on {kind} sent {type} for {key}, which does not follow from what was sent before",
  "Nothing to do: the cache lists again. Seen often, something between here and the API server loses events, or etcd was restored without raising its revision.",
);

export const ListTimedOut = defineError(
  "KUBE_LIST_TIMED_OUT",
  "listing {kind} gave no answer within {seconds} s",
  "The cache tries again by itself. Check the network path and the load of the API server.",
);

export const CacheNotSynced = defineError(
  "KUBE_CACHE_NOT_SYNCED",
  "gave up waiting for the first list of {kind}: {reason}",
  "Look at the reason: most often the API server cannot be reached or the account may not list this kind.",
);

export const WatchClosedEarly = defineError(
  "KUBE_WATCH_CLOSED_EARLY",
  "the API server closed the watch on {kind} after {ms} ms, before its time",
  "The cache goes on by itself. Seen often, look for a proxy or load balancer that cuts long requests.",
);

export const RevisionWentBack = defineError(
  "KUBE_REVISION_WENT_BACK",
  "the watch on {kind} went back from resource version {from} to {to}",
  "The cache lists again by itself. Find out whether etcd was restored from a backup.",
);

export const TransformLostObject = defineError(
  "KUBE_TRANSFORM_LOST_OBJECT",
  "the transform of {kind} gave back something else than {key}",
  "A transform has to return an object of the same name and namespace, and to return it at once, not as a promise.",
);

export const ListWithoutEnd = defineError(
  "KUBE_LIST_WITHOUT_END",
  "listing {kind} came to no end: {reason}",
  "The cache tries again by itself, at last without pages. Look for a proxy that drops `continue` from requests, or caches answers.",
);

export const CacheFull = defineError(
  "KUBE_CACHE_FULL",
  "{server} sends more of {kind} than is kept of it: its caches may take {megabytes} MiB together",
  "What was known before stays, and the cache lists again by itself. A site that is well has not so much to tell: find out what it keeps there for this one.",
);

export const VersionMissing = defineError(
  "KUBE_VERSION_MISSING",
  "the watch on {kind} sent {type} for {key} without a resource version",
  "The cache lists again by itself. Find out what serves this kind: Kubernetes always gives one.",
);

export const CacheRunning = defineError(
  "KUBE_CACHE_RUNNING",
  "cannot run {cache}: it runs already",
  "Run it once, and share it: any number of readers and handlers can use the same one.",
);
