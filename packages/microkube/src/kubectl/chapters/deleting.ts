import type { Chapter } from "../chapter.ts";

const pods = `
apiVersion: v1
kind: Pod
metadata: { name: a, labels: { set: x } }
spec: { terminationGracePeriodSeconds: 1, containers: [{ name: c, image: "nginx:1" }] }
---
apiVersion: v1
kind: Pod
metadata: { name: b, labels: { set: x } }
spec: { terminationGracePeriodSeconds: 1, containers: [{ name: c, image: "nginx:1" }] }
---
apiVersion: v1
kind: Pod
metadata: { name: c }
spec: { terminationGracePeriodSeconds: 1, containers: [{ name: c, image: "nginx:1" }] }
`;

const kept = `
apiVersion: v1
kind: ConfigMap
metadata: { name: kept, finalizers: [example.com/keep] }
`;

/** Deleting in every form, and what follows it. */
export const deleting: Chapter = {
  about: "deleting",
  files: { "pods.yaml": pods, "kept.yaml": kept },
  script: `
    kubectl create configmap one
    kubectl create configmap two
    kubectl create configmap three
    kubectl label configmap two three set=x
    kubectl delete configmap one --dry-run=client
    kubectl delete configmap one --dry-run=server -o name
    kubectl delete configmap one
    kubectl delete configmap one
    kubectl delete configmap one --ignore-not-found
    kubectl delete configmap one two
    kubectl delete configmaps -l set=x
    kubectl delete configmaps -l set=x
    kubectl delete configmaps --field-selector=metadata.name=absent
    kubectl delete configmaps
    kubectl delete nothing one
    kubectl delete --all
    kubectl delete configmap --all one
    kubectl apply -f pods.yaml
    kubectl wait --for=condition=Ready pods --all --timeout=30s
    kubectl delete pod a --now
    kubectl delete pod b --force
    kubectl delete pod c --grace-period=0
    kubectl get pods
    kubectl apply -f pods.yaml
    kubectl wait --for=condition=Ready pods --all --timeout=30s
    kubectl delete pods -l set=x --wait=false -o name
    kubectl wait --for=delete pod/a pod/b --timeout=30s
    kubectl delete -f pods.yaml
    kubectl delete -f pods.yaml --ignore-not-found
    kubectl apply -f pods.yaml
    kubectl delete pods --all --grace-period=1 --timeout=30s
    kubectl delete pods --all
    kubectl create -f kept.yaml
    kubectl delete configmap kept --timeout=3s
    kubectl delete configmap kept --wait=false
    kubectl get configmap kept -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}'
    kubectl describe configmap kept
    kubectl patch configmap kept --type=merge -p '{"metadata":{"finalizers":["example.com/keep","example.com/more"]}}'
    kubectl patch configmap kept --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
    kubectl get configmap kept
    kubectl create deployment web --image=nginx:1
    last: kubectl rollout status deployment web --timeout=60s
    kubectl delete deployment web --cascade=orphan
    kubectl get replicasets,pods -l app=web -o jsonpath='{range .items[*]}{.kind} {.metadata.ownerReferences[*].kind}{"\\n"}{end}'
    kubectl delete replicasets -l app=web --cascade=orphan -o name | sed s/-.*//
    kubectl get pods -l app=web -o jsonpath='{.items[*].metadata.ownerReferences}'
    kubectl delete pods -l app=web --force --grace-period=0 2>&1 | sed s/web-.*\\"/web/
    kubectl create deployment web --image=nginx:1
    last: kubectl rollout status deployment web --timeout=60s
    kubectl delete deployment web --cascade=foreground
    kubectl get deployments,replicasets,pods
    kubectl create deployment web --image=nginx:1
    kubectl delete deployment web --cascade=background
    kubectl wait --for=delete deployment/web --timeout=30s
    last: until test -z "$(kubectl get pods,replicasets -l app=web -o name)"; do sleep 0.5; done; echo gone
    kubectl delete deployment web --cascade=wrong
    kubectl delete --raw /api/v1/namespaces/$NAMESPACE/configmaps/absent
    kubectl create configmap raw
    kubectl delete --raw /api/v1/namespaces/$NAMESPACE/configmaps/raw
    kubectl create namespace $NAMESPACE-more
    kubectl create configmap inside -n $NAMESPACE-more
    kubectl create deployment inside --image=nginx:1 -n $NAMESPACE-more
    kubectl get namespace $NAMESPACE-more
    kubectl delete namespace $NAMESPACE-more --timeout=60s
    kubectl get namespace $NAMESPACE-more
    kubectl delete namespace default
    kubectl delete namespace $NAMESPACE-more
    kubectl create configmap inside -n $NAMESPACE-more
    kubectl create namespace $NAMESPACE-held
    sed "s/name: kept/name: kept, namespace: $NAMESPACE-held/" kept.yaml | kubectl create -f -
    kubectl delete namespace $NAMESPACE-held --wait=false
    kubectl wait --for=condition=NamespaceFinalizersRemaining namespace/$NAMESPACE-held --timeout=20s
    kubectl get namespace $NAMESPACE-held
    kubectl get namespace $NAMESPACE-held -o jsonpath='{.status}'
    kubectl describe namespace $NAMESPACE-held
    kubectl create configmap late -n $NAMESPACE-held
    kubectl patch configmap kept -n $NAMESPACE-held --type=merge -p '{"metadata":{"finalizers":null}}'
    unseen: kubectl wait --for=delete namespace/$NAMESPACE-held --timeout=30s
  `,
};
