import { defineError } from "@fjord/base";

export const WrongUsage = defineError(
  "CLI_WRONG_USAGE",
  "{problem}",
  "`fjord COMMAND --help` says what a command takes, `fjord --help` which commands there are.",
);

export const NotInstalled = defineError(
  "CLI_NOT_INSTALLED",
  "{server} does not know Fjord's kinds",
  "Install Fjord there first: `fjord init` with the same --kubeconfig and --context.",
);

export const NoSuchThing = defineError(
  "CLI_NO_SUCH_THING",
  "there is no {what} {name} here{hint}",
  "`fjord status` lists what there is. Was another --context meant, or, where it is in a namespace, another of these (-n)?",
);

export const UnknownSite = defineError(
  "CLI_UNKNOWN_SITE",
  "this site knows no site {name}{hint}",
  "Sites get to know each other by a token: `fjord pair token` prints one at the other site, and `fjord peer TOKEN` here pairs and peers with it. `fjord sites` lists those that are known. Was another --context meant?",
);

export const TimedOut = defineError(
  "CLI_TIMED_OUT",
  "{what} within {seconds} s; last: {last}",
  "The wish stands and the agent goes on: `fjord status` shows how far it is. Give more time with --timeout.",
);

export const NotRunning = defineError(
  "CLI_NOT_RUNNING",
  "{what} within {seconds} s; last: {last}",
  "What was asked for is applied, and the cluster goes on with it. In that namespace, `kubectl get pods` shows what runs, `kubectl describe pod` and `kubectl logs` of one that is not ready why, and `kubectl get lease fjord-agent` which agent leads. Repeat the command to wait for it again, with a longer --timeout.",
);

export const StillEnding = defineError(
  "CLI_STILL_ENDING",
  "{what} within {seconds} s; last: {last}",
  "The wish stands and the agent goes on: `fjord status` shows how far it is, and --timeout gives it more time. Where the other site is gone for good, repeat it with --force, which waits for nothing there and forgets the site.",
);

export const KeyNotInUse = defineError(
  "CLI_KEY_NOT_IN_USE",
  "the new key was not in use everywhere within {seconds} s; last: {last}",
  "The new key stands, and links take it up by themselves: `fjord network status` shows when each last agreed on a session. Give more time with --timeout.",
);

export const BeingRemoved = defineError(
  "CLI_BEING_REMOVED",
  "{what} of before was still being removed after {seconds} s",
  "Nothing was asked for: it would have gone with what is being removed. Repeat the command; --timeout gives it more time, and `fjord status` shows what is still there.",
);

export const WishWithdrawn = defineError(
  "CLI_WISH_WITHDRAWN",
  "{what} was removed while this command waited for it",
  "Somebody else took the wish back, and nothing is asked for now. Repeat the command where it is still wanted.",
);

export const NoDeployment = defineError(
  "CLI_NO_DEPLOYMENT",
  "Fjord does not run at {server} as a Deployment {name} in namespace {namespace}",
  "An agent outside the cluster, `fjord micro` and a demo are upgraded by starting the new version. Where it was installed elsewhere, name that with --namespace.",
);

export const InstalledElsewhere = defineError(
  "CLI_INSTALLED_ELSEWHERE",
  "Fjord is installed in namespace {namespace} of this cluster, not in {wanted}",
  "Nothing was changed. A cluster has one agent: name its namespace with --namespace, or `fjord uninstall` it there first.",
);

export const NotAgentsNamespace = defineError(
  "CLI_NOT_AGENTS_NAMESPACE",
  "namespace {namespace} is none of Fjord's, and would be removed with all that is in it",
  "Nothing was changed. Name the namespace that the agent was installed in with --namespace; `kubectl get secrets -A --field-selector=metadata.name=fjord-identity` shows it.",
);

export const SharedNamespace = defineError(
  "CLI_SHARED_NAMESPACE",
  "namespace {namespace} has {what}, none of it Fjord's, and would be removed with all that is in it",
  "Nothing was changed. Move that elsewhere first, or repeat with --force, which removes it too.",
);

export const HelmsInstallation = defineError(
  "CLI_HELMS_INSTALLATION",
  "Fjord in namespace {namespace} is Helm's release {release}, which alone knows its values",
  "Nothing was changed. `helm upgrade RELEASE charts/fjord --namespace NAMESPACE --reset-then-reuse-values` upgrades it, with `--set` for what is to be other than it was.",
);

export const UnknownValues = defineError(
  "CLI_UNKNOWN_VALUES",
  "Deployment {name} in namespace {namespace} does not say with which values it was installed",
  "Nothing was changed. Say all of them with --values FILE, as in charts/fjord/values.yaml; what the file leaves out gets its default.",
);

export const ThisSite = defineError(
  "CLI_THIS_SITE",
  "{name} is this site itself: it cannot {what}",
  "Name another site: `fjord sites` lists them. Was another --context meant? `fjord uninstall` is what removes Fjord from this one.",
);

export const KeptNamespace = defineError(
  "CLI_KEPT_NAMESPACE",
  "namespace {namespace} stays here: it is one of the system's or of an agent's",
  "Put what is to run elsewhere into a namespace of its own, and offload that.",
);

export const InvalidValue = defineError(
  "CLI_INVALID_VALUE",
  "{option} cannot be {value}: {reason}",
  "`--help` says what the option takes.",
);

export const PeeringExists = defineError(
  "CLI_PEERING_EXISTS",
  "there is a peering {name} with site {site}, not with {wanted}",
  "Give the new one another name with --name.",
);

export const ConsumersContract = defineError(
  "CLI_CONSUMERS_CONTRACT",
  "there is no peering with {site} to end here: it uses this site, by {contracts}",
  "Nothing was changed. Its owner ends that with `fjord unpeer` there. To end it from this side, `fjord unpeer --forget` revokes it and forgets the site; `fjord drain` has its pods leave first.",
);

export const DataElsewhere = defineError(
  "CLI_DATA_ELSEWHERE",
  "volumes at {sites} would be deleted with all that is in them: those of the claims {claims}",
  "Nothing was changed. Copy what is to be kept while its pods run (`kubectl cp`), or have the owner there keep the volumes (`persistentVolumeReclaimPolicy: Retain`). Then repeat it with --discard-data.",
);

export const SiteInUse = defineError(
  "CLI_SITE_IN_USE",
  "site {site} cannot be forgotten with peering {peering} alone: {ties} would end too",
  "Nothing was changed. `fjord unpeer` of the peering, without --forget and --force, ends that one alone. `fjord unpeer SITE --forget` (or `--force`), by the site's name, ends all that there is with the site, on both sides, and forgets it.",
);

export const PairingRefused = defineError(
  "CLI_PAIRING_REFUSED",
  "the pairing was refused: {reason}",
  "Ask the other site's owner for a new token: `fjord pair token` there.",
);

export const PairingUnanswered = defineError(
  "CLI_PAIRING_UNANSWERED",
  "there was no answer of {site} within {seconds} s; last: {last}",
  "Nothing is asked for any more: the agent has given up with this command. The token is good until it expires, so repeat the command once its address can be reached from here; --timeout gives it more time. Where the address is wrong, `fjord pair token --endpoint=URL` there makes a token with another.",
);

export const NoOwnSite = defineError(
  "CLI_NO_OWN_SITE",
  "no agent has introduced itself at {server} yet",
  "Start the agent of this site: `fjord-agent run`. `fjord sites` shows it once it runs.",
);

export const WishRefused = defineError(
  "CLI_WISH_REFUSED",
  "{what}: {reason}",
  "The wish stands, and the agent tries again from time to time. Repeat the command with other amounts to change it, or take it back with `fjord unpeer`: nothing of it is in force.",
);

export const NotShared = defineError(
  "CLI_NOT_SHARED",
  "{what}: {reason}",
  "Other amounts would not help: the provider's owner has to share with this site first (`sharing` of the Site there, docs/peering.md). The wish stands, and the agent asks again from time to time; `fjord unpeer` takes it back.",
);

export const NotKnownThere = defineError(
  "CLI_NOT_KNOWN_THERE",
  "{what}: {reason}",
  "Its owner has forgotten this site, or has lost what it knew. Pair anew: `fjord pair token` there prints a token, and `fjord peer TOKEN` here redeems it and goes on with the amounts that the peering has. The wish stands, and the agent asks again from time to time; `fjord unpeer` takes it back.",
);

export const MayNotUse = defineError(
  "CLI_MAY_NOT_USE",
  "{what}: {reason}",
  'Whose token was redeemed may be used by whoever redeemed it, and not the other way round, unless that said --both-ways. The owner there allows it with `kubectl patch site NAME --type=merge --patch=\'{"spec":{"mayConsume":true}}\'` there (NAME is what this site is called there: `fjord sites`), or pairs again by a token of this site with --both-ways. The wish stands, and the agent asks again from time to time; `fjord unpeer` takes it back.',
);

export const ContractsClosed = defineError(
  "CLI_CONTRACTS_CLOSED",
  "{what}: {reason}",
  "Other amounts would not help: the provider's owner has cordoned or drained what this site has there, and opens it with `fjord uncordon` there. The wish stands, and the agent asks again from time to time; `fjord unpeer` takes it back.",
);

export const ResizeRefused = defineError(
  "CLI_RESIZE_REFUSED",
  "peering {name} keeps the amounts that it has: {reason}",
  "The contract in force stays as it is, and its pods too; the agent asks again from time to time. Repeat the command with other amounts, or take the wish back by repeating it with those in force (`fjord status`). `fjord unpeer` would end the contract itself.",
);

export const NodeNameRefused = defineError(
  "CLI_NODE_NAME_REFUSED",
  "peering {name} has no node: {reason}",
  "A peering's node keeps its name: `fjord unpeer` this peering first, then `fjord peer` with another --node-name. Or remove the node that has the name.",
);

export const TwinNameRefused = defineError(
  "CLI_TWIN_NAME_REFUSED",
  "namespace {namespace} has no twin: {reason}",
  "The twins' name cannot be changed: `fjord unoffload` the namespace first, then `fjord offload` it with another --naming or --twin-name. Until then the wish stands, and sites that gave the name keep their twins.",
);

export const RuleOffloads = defineError(
  "CLI_RULE_OFFLOADS",
  "namespace {namespace} matches the OffloadingRule {rule}, which would offload it again at once",
  "Nothing was changed. Change the rule's namespaceSelector (`kubectl edit offloadingrule`) or the namespace's labels (`kubectl label namespace`) so that they no longer match: what the rule made then goes by itself, and `fjord unoffload` removes an Offloading of the namespace's own.",
);

export const RuleDecides = defineError(
  "CLI_RULE_DECIDES",
  "namespace {namespace} is offloaded as the OffloadingRule {rule} says, which would undo any change at once",
  "Nothing was changed. Change the rule's template (`kubectl edit offloadingrule`), which holds for all of its namespaces; or make the Offloading the namespace's own by `kubectl label offloading offloading fjord.dev/offloading-rule- -n NAMESPACE`, and repeat the command.",
);

export const InvalidMicroOption = defineError(
  "MICRO_INVALID_OPTION",
  "{option} cannot be {value}: {reason}",
  "`fjord micro run --help` says what the option takes.",
);

export const NotASite = defineError(
  "MICRO_NOT_A_SITE",
  "{directory} was not made by `fjord micro run`",
  "Name the directory that was given to `fjord micro run` as --state-dir.",
);

export const SiteRuns = defineError(
  "MICRO_SITE_RUNS",
  "the site in {directory} runs: nothing of it was removed",
  "Stop its process first (Ctrl-C, or `systemctl stop fjord-micro`), then repeat `fjord micro reset`.",
);

export const NotEmpty = defineError(
  "MICRO_NOT_EMPTY",
  "{directory} has no site in it, but other things: {what}",
  "Nothing was changed. A site begins in a directory of its own: name one with --state-dir that is empty or not there yet.",
);

export const AgentOfMicro = defineError(
  "CLI_AGENT_OF_MICRO",
  "the control plane at {server} is a part of `fjord micro`, with an agent of its own: another would be a second one",
  "Nothing was changed. What that agent does differently it is told where it is started (`fjord micro run --help`), and a newer one is had by starting the newer program. Was another --context meant?",
);

export const PartOfMicro = defineError(
  "CLI_PART_OF_MICRO",
  "the agent at {server} is a part of `fjord micro`, with the control plane itself: it cannot be uninstalled from it",
  "Nothing was changed. End its peerings (`fjord unpeer`), stop the process, and remove the site with `fjord micro reset` and the --state-dir that it was started with; a demo removes its sites when it ends.",
);

export const NoTestbed = defineError(
  "CLI_NO_TESTBED",
  "the test bed is not here: {looked} does not exist",
  "It comes with a checkout: `git clone` Fjord's repository, `npm install` there, then `npm run testbed`. To run one site on this machine, `fjord micro` is enough.",
);

export const NoKubectl = defineError(
  "CLI_NO_KUBECTL",
  "there is no kubectl on this machine: looked in {looked}",
  "Install kubectl (https://kubernetes.io/docs/tasks/tools), or name one by FJORD_KUBECTL=/path/to/kubectl.",
);

export const NoWayToSite = defineError(
  "CLI_NO_WAY_TO_SITE",
  "there is no way to the API of {site} from here: {reason}",
  "Peer with it (`fjord peer`), or add a context of its name to the kubeconfig (`kubectl config set-context`).",
);

export const DialsOutOnly = defineError(
  "CLI_DIALS_OUT_ONLY",
  "there is no way to the API of {site} from here: it has no endpoint, and dials out itself to this site's agent alone",
  "kubectl on the pods here, their logs and `exec` too, reaches them without it (docs/nat.md). For all else run kubectl at that site, or add a context of its name to the kubeconfig (`kubectl config set-context`) where this machine reaches its API.",
);

export const CannotMove = defineError(
  "CLI_CANNOT_MOVE",
  "{what} cannot be moved to {place}: {reason}",
  "`fjord explain` says where its pods may run, `fjord status` which sites there are.",
);

export const PlaceNotReady = defineError(
  "CLI_PLACE_NOT_READY",
  "{what} was not moved to {place}: {reason}",
  "Nothing was changed: its new pods would wait, and the old ones with them. Repeat it when `fjord sites` shows the site as ready and its node takes pods (`fjord uncordon`), or have them wait with --force.",
);

export const MoveUnfinished = defineError(
  "CLI_MOVE_UNFINISHED",
  "{what} was not at {place} within {seconds} s; last: {last}",
  "The wish stands. A Deployment's old pods end when new ones are ready; of a StatefulSet, each ends before the one that takes its place begins. `fjord explain TYPE/NAME` says where each pod is and what it waits for; `fjord move TYPE/NAME anywhere` takes the wish back. Give more time with --timeout.",
);

export const AmbiguousTarget = defineError(
  "CLI_AMBIGUOUS_TARGET",
  "{target} is not clear: {reason}",
  "Name a pod, or a workload as TYPE/NAME, such as deployment/web; `kubectl get pods,deployments` lists them.",
);

export const NoTarget = defineError(
  "CLI_NO_TARGET",
  "nothing was named",
  "Name a pod, a workload as TYPE/NAME, such as deployment/web, or labels with --selector; `kubectl get pods` lists what there is.",
);

export const NoPods = defineError(
  "CLI_NO_PODS",
  "{target} has no pods in namespace {namespace}",
  "`kubectl get pods,deployments` lists what there is. Was another --namespace or --context meant?",
);

export const NoContainer = defineError(
  "CLI_NO_CONTAINER",
  "{target} has no container {name}; it has {containers}",
  "Name one of them by --container, or leave that out for all but the init containers.",
);

export const LogUnread = defineError(
  "CLI_LOG_UNREAD",
  "{what} could not be read: {reason}",
  "`fjord sites` says which sites answer: what is written at one that is away can be read when it is back. `fjord explain POD` says what a pod waits for.",
);

export const WrongValues = defineError(
  "CLI_WRONG_VALUES",
  "the values of {file} cannot be used: {reason}",
  "charts/fjord/values.yaml has all values with what they mean.",
);

export const LogUnreadable = defineError(
  "CLI_LOG_UNREADABLE",
  "the log {file} cannot be read: {why}",
  "Name with --log a file that is there and that you may read.",
);

export const ReportIncomplete = defineError(
  "CLI_REPORT_INCOMPLETE",
  "{file} has next to nothing in it: the cluster does not answer",
  "Repeat it when the cluster answers, or where it does; --log FILE adds the log of an agent that runs outside the cluster.",
);

export const StillInUse = defineError(
  "CLI_STILL_IN_USE",
  "Fjord is in use here: {what}",
  "End that first (`fjord unoffload`, `fjord unpeer`), and have consumers end theirs; or repeat with --force, which ends all of it from this side.",
);

export const NotRemoved = defineError(
  "CLI_NOT_REMOVED",
  "{what} did not go within {seconds} s",
  "`kubectl get -o yaml` of it says who holds it (metadata.finalizers, status.conditions). Once it is gone, repeat `fjord uninstall`: it goes on from there.",
);

export const NoPage = defineError(
  "CLI_NO_PAGE",
  "there is no page at {url}: {reason}",
  "The agent serves it at its --page-listen, 127.0.0.1:7446 unless told otherwise (`fjord micro`: at its --address). Does it run on this machine? If it is served elsewhere, name that by --url.",
);

export const PageNotBuilt = defineError(
  "CLI_PAGE_NOT_BUILT",
  "the agent at {url} has no page to serve: {reason}",
  "It runs from a checkout: `npm run build` there makes the page, and the agent serves it from then on. Or start it with --page-files=FOLDER of a built one.",
);

export const ReportNotWritten = defineError(
  "CLI_REPORT_NOT_WRITTEN",
  "the report cannot be written to {file}: {reason}",
  "Name another place by --file, or make room there. Nothing of it was left.",
);

export const UnclearEnd = defineError(
  "CLI_UNCLEAR_END",
  "{end} is no end of a path: {reason}",
  "Name a pod (NAME, pod/NAME, pod/NAMESPACE/NAME), a Service to go to (service/NAME), an address as it is called here, or another site's own one (10.42.0.7@SITE).",
);

export const NoLink = defineError(
  "CLI_NO_LINK",
  "there is no link with site {site}: {reason}",
  "`fjord network status` lists links; `fjord peer SITE --link` asks for one. Sites without privileges have none: their agents' metrics count what they carry.",
);

export const NoGateway = defineError(
  "CLI_NO_GATEWAY",
  "the gateway that carries the link is not found: {reason}",
  "Rights to find and to reach it are in the Role fjord-capture of the agent's namespace (--agent-namespace). Where gateways are no pods, run this on the node that carries the links, or name the way there with --gateway.",
);

export const NoProof = defineError(
  "CLI_NO_PROOF",
  "you may not create CertificateSigningRequests here, by which a gateway learns who asks",
  "The ClusterRole fjord-capture has that right, and the one to capture. Nobody signs these requests.",
);

export const CaptureRefused = defineError(
  "CLI_CAPTURE_REFUSED",
  "{gateway} gives no packets: {reason}",
  "Rights to capture are in the ClusterRole and Role fjord-capture. Where the gateway is no pod, run this on its node, or name the way there with --gateway; `fjord network status` says how the link is.",
);

export const FileUnwritten = defineError(
  "CLI_FILE_UNWRITTEN",
  "packets cannot be written to {path}: {reason}",
  "Is there room, and may you write there? `--file -` gives them to another program, and without --file they are printed.",
);

export const NoTestPods = defineError(
  "CLI_NO_TEST_PODS",
  "there are no pods at two sites that could ask each other: {reason}",
  "Nothing of the test was left. Where the image cannot be had, name one with --image that nodes there have or may pull, with sh and busybox or python3 in it; --timeout gives pods more time. `fjord sites` and `fjord status` say which sites take pods.",
);

export const TestRuns = defineError(
  "CLI_TEST_RUNS",
  "another `fjord network test --deploy` goes on at this site",
  "Nothing was changed. Repeat it when that one is over: what a killed one has left is noticed by its silence, and removed.",
);

export const TestNamespaceTaken = defineError(
  "CLI_TEST_NAMESPACE_TAKEN",
  "there is a namespace {namespace} which no test has made: it has no label {label}=true",
  "Nothing was changed. Give what is in it another namespace: the test removes its own with all that is in it. Without --deploy it makes none, and asks from within pods that are there.",
);
