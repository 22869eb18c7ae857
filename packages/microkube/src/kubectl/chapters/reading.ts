import type { Chapter } from "../chapter.ts";

const watch = `
kubectl get configmap settings --watch --output-watch-events -o name > seen &
until [ -s seen ]; do sleep 0.05; done
kubectl label configmap settings seen=yes > /dev/null
until [ "$(wc -l < seen)" -ge 2 ]; do sleep 0.05; done
kill $!
cat seen
`;

const printed = `
apiVersion: v1
kind: Pod
metadata: { name: one }
`;

/** Getting objects in every form, and being told that there are none. */
export const reading: Chapter = {
  about: "reading",
  files: {
    "watch.sh": watch,
    "pod.yaml": printed,
    "columns.txt": "NAME          LABEL\nmetadata.name metadata.labels.tier\n",
  },
  script: `
    kubectl get pods
    kubectl create configmap settings --from-literal=a=1 --from-literal=b=two
    kubectl create configmap other --from-literal=c=3
    kubectl label configmap settings tier=front track=stable
    kubectl run one --image=nginx:1 --labels=app=one,tier=front --port=80 --overrides="$PINNED"
    kubectl run two --image=nginx:2 --labels=app=two,tier=back --env=A=B --overrides="$PINNED" -- sleep 10
    kubectl wait --for=condition=Ready pod/one pod/two --timeout=30s
    kubectl create deployment web --image=nginx:1 --replicas=2
    last: kubectl rollout status deployment web --timeout=60s
    kubectl get pods one two
    kubectl get pods one -o wide
    kubectl get pods one two -o name
    kubectl get pod one -o yaml
    kubectl get pod one -o json
    sorted: kubectl get pod two -o yaml --show-managed-fields
    kubectl get pods -l tier -o jsonpath='{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}'
    kubectl get pods -l tier -o jsonpath-as-json='{.items[*].metadata.labels}'
    kubectl get pods one -o jsonpath='{.spec.containers[?(@.name=="one")].image}'
    kubectl get pods one -o jsonpath='{.nothing}'
    kubectl get pods one -o jsonpath='{.nothing'
    kubectl get pods -l tier -o go-template='{{range .items}}{{.metadata.name}} {{end}}'
    kubectl get pods -l tier -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image,NONE:.spec.nothing
    kubectl get pods -l tier -o custom-columns=NAME:.metadata.name --no-headers
    kubectl get configmaps settings other -o custom-columns-file=columns.txt
    kubectl get pods -l tier --show-labels
    kubectl get pods -l tier -L app,tier
    kubectl get pods -l tier=front
    kubectl get pods -l 'tier in (front,back),app!=one'
    kubectl get pods -l '!tier' --no-headers -o custom-columns=APP:.metadata.labels.app
    kubectl get pods -l 'tier=(front'
    kubectl get pods --field-selector=status.phase=Running,metadata.name=one
    kubectl get pods --field-selector=spec.unknown=1
    kubectl get pods -l tier --sort-by=.metadata.name
    kubectl get pods -l tier --sort-by='{.spec.containers[0].image}'
    kubectl get configmaps --chunk-size=1
    kubectl get configmaps -o name --chunk-size=1
    kubectl get configmaps --show-kind
    kubectl get pods,configmaps -l tier
    kubectl get pods/one configmap/settings
    kubectl get pods -A -l app=one,tier=front --field-selector=metadata.namespace=$NAMESPACE
    kubectl get all -l tier
    sorted: kubectl get all
    sorted: kubectl get all -o wide
    kubectl get deployment web -o wide
    kubectl get deployment web --subresource=scale
    kubectl get deployment web --subresource=scale -o yaml
    kubectl get deployment web --subresource=status -o yaml
    sorted: kubectl get deployment web -o yaml --show-managed-fields
    kubectl get replicasets -o wide
    kubectl get endpoints,endpointslices
    kubectl get -f pod.yaml
    kubectl get -f pod.yaml -o name
    kubectl get deployments.apps web
    kubectl get deployments.v1.apps web -o name
    kubectl get deploy web --show-labels
    timeout 2 kubectl get configmaps --watch
    timeout 2 kubectl get pods one --watch-only
    sh watch.sh
    kubectl get pod none
    kubectl get pods none one
    kubectl get pod none --ignore-not-found
    kubectl get nothing
    kubectl get nothing.example.com
    kubectl get pods one -o nothing
    kubectl get configmaps -l nothing=here
    kubectl get pods -n nowhere
    kubectl get --raw /api/v1/namespaces/$NAMESPACE/configmaps/none
    kubectl get --raw /api/v1/namespaces/$NAMESPACE/configmaps/settings
    kubectl get --raw /nothing
    kubectl get --raw '/api/v1/namespaces/'$NAMESPACE'/pods?limit=nothing'
    kubectl get namespaces $NAMESPACE -o yaml
    kubectl get namespaces $NAMESPACE --show-labels
    kubectl get serviceaccounts
    kubectl get configmap kube-root-ca.crt -o jsonpath='{.metadata}'
    kubectl get services -n default
    kubectl get svc kubernetes -n default -o yaml
    kubectl get priorityclasses
    kubectl get events --for pod/one
    kubectl events --for pod/one --types=Normal
    kubectl events --for pod/none
    kubectl describe pod one
    kubectl describe pods -l tier
    sorted: kubectl describe deployment web
    kubectl describe configmap settings
    kubectl describe namespace $NAMESPACE
    kubectl describe serviceaccount default
    kubectl describe service kubernetes -n default | grep -v '^Endpoints:'
    kubectl describe pod none
    kubectl describe replicasets
  `,
};
