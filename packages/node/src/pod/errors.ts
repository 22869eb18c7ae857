import { defineError } from "@fjord/base";

export const HostnameTooLong = defineError(
  "POD_HOSTNAME_TOO_LONG",
  "Failed to construct FQDN from Pod hostname and cluster domain, FQDN {name} is too long ({max} characters is the max, {length} characters requested)",
  "Shorten `hostname` or `subdomain` of the pod, or leave `setHostnameAsFQDN` out.",
);

export const StillMounted = defineError(
  "POD_FILES_STILL_MOUNTED",
  "cannot remove {folder}: something is mounted at {mount}",
  "The node tries again by itself. If it lasts, find out with `fuser -m` who uses the mount, and unmount it.",
);

export const RuntimeClassMissing = defineError(
  "POD_RUNTIME_CLASS_MISSING",
  'RuntimeClass "{name}" not found',
  "Create the RuntimeClass, or leave `runtimeClassName` out of the pod. The node tries again by itself.",
);

export const HookFailed = defineError(
  "POD_HOOK_FAILED",
  "a lifecycle hook of container {container} failed: {reason}",
  "Run the hook's command in the container, or ask the address it asks, and see why it does not succeed.",
);
