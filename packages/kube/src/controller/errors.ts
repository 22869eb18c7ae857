import { defineError } from "@fjord/base";

export const SourceNotSynced = defineError(
  "KUBE_SOURCE_NOT_SYNCED",
  "controller {controller} gave up after {seconds} s waiting for what it watches: {reason}",
  "Look at the reason: most often the account may not list or watch one of the kinds, or the kind is not installed.",
);

export const CachesNotSynced = defineError(
  "KUBE_CACHES_NOT_SYNCED",
  "the manager gave up after {seconds} s waiting for its caches: {reason}",
  "Look at the reason: most often the API server cannot be reached or the account may not list a kind.",
);

export const ReconcileTimedOut = defineError(
  "KUBE_RECONCILE_TIMED_OUT",
  "controller {controller} gave up on {object} after {seconds} s",
  "It will be tried again. If it happens often, raise the controller's timeout or look for a call that ignores its signal.",
);

export const InvalidResult = defineError(
  "KUBE_INVALID_RESULT",
  "controller {controller} was given {result} for {object}, which is no result",
  "Return done(), againAfter(ms) with a number, or terminal(error) from the reconciler. The object is tried again with growing delays.",
);

export const LeadershipLost = defineError(
  "KUBE_LEADERSHIP_LOST",
  "{identity} lost the leadership held by lease {lease}: {reason}",
  "Exit and start again: another candidate leads by now. If it happens often, look at the API server's latency, or lengthen the lease.",
);

export const InvalidLeaseTiming = defineError(
  "KUBE_INVALID_LEASE_TIMING",
  "cannot elect a leader by lease {lease}: {reason}",
  "Use a lease duration longer than the renew deadline, and a renew deadline longer than the retry period with its jitter.",
);

export const StopTimedOut = defineError(
  "KUBE_STOP_TIMED_OUT",
  "gave up waiting after {seconds} s for these to stop: {names}",
  "Each of them must return soon after its signal aborts. Find the call in it that takes no signal.",
);

export const ManagerStarted = defineError(
  "KUBE_MANAGER_STARTED",
  "cannot {action}: the manager has been started",
  "Add caches, runnables and checks before `run`, and run a manager once.",
);

export const FinalizerRefused = defineError(
  "KUBE_FINALIZER_REFUSED",
  "cannot add finalizer {finalizer} to {object}: it is being deleted",
  "Look at `metadata.deletionTimestamp` first; an object that is going away takes no new finalizers.",
);

export const ObjectGone = defineError(
  "KUBE_OBJECT_GONE",
  "cannot add a finalizer to {object}: it is gone, or another object has taken its name",
  "Nothing to do: the next reconciliation sees what is there now.",
);

export const ObjectBusy = defineError(
  "KUBE_OBJECT_BUSY",
  "cannot change the finalizers of {object}: others changed it {attempts} times meanwhile",
  "It is worth trying again. If it happens often, find out who writes this object's finalizers in a loop.",
);
