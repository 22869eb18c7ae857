import { defineError } from "@fjord/base";

export const LoginRefused = defineError(
  "PAGE_LOGIN_REFUSED",
  "cannot log in: {reason}",
  "Ask for a new link, or use a token that the cluster knows: `kubectl create token NAME`.",
);

export const TooManyLogins = defineError(
  "PAGE_TOO_MANY_LOGINS",
  "cannot log in: too many have tried, try again in {seconds} s",
  "Wrong tokens are taken only slowly from one address. A link (`fjord dashboard`) always gets its turn. Sessions that exist go on.",
);

export const ActionRefused = defineError(
  "PAGE_ACTION_REFUSED",
  "cannot {action}: {reason}",
  "What the message names has to change first. Actions need an agent that was started with `--page-actions`.",
);

export const PageFilesMissing = defineError(
  "PAGE_FILES_MISSING",
  "cannot serve the page from {directory}: {reason}",
  "`npm run build`, in the checkout that the agent runs from, makes the files, and they are served from then on; `--page-files` says where they are.",
);

export const PageListenUnsafe = defineError(
  "PAGE_LISTEN_UNSAFE",
  "cannot serve the page on {address} without TLS: tokens and sessions would cross the network in the clear",
  "Listen on 127.0.0.1 and use `kubectl port-forward`, or give `--page-tls-cert` and `--page-tls-key`.",
);
