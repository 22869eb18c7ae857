import type { Chapter } from "../chapter.ts";

const roles = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: writer }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get, list, create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: writer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: writer }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: jane }]
`;

const fewer = roles.replace(", create]", "]");

const request = `
openssl req -new -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj "/CN=$1/O=team" 2> /dev/null
cat <<END
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: { name: $NAMESPACE-$1 }
spec:
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
  expirationSeconds: 3600
  request: $(base64 -w0 < $1.csr)
END
`;

/** Who may do what, and how that is told; tokens and certificates. */
export const rights: Chapter = {
  about: "rights",
  files: { "roles.yaml": roles, "fewer.yaml": fewer, "request.sh": request },
  script: `
    kubectl auth can-i create pods
    kubectl auth can-i '*' '*'
    kubectl auth can-i get pods --as=jane
    kubectl auth can-i get pods --as=jane -q
    kubectl auth can-i get pods/log --as=system:serviceaccount:$NAMESPACE:default
    kubectl auth can-i get /healthz --as=jane
    kubectl auth can-i get nothing --as=jane
    kubectl auth can-i list nodes --as=jane
    kubectl auth can-i get secrets/one --subresource=none --as=jane
    kubectl auth can-i --list --as=jane
    sorted: kubectl auth can-i --list
    kubectl auth can-i --list --as=jane --as-group=system:masters --no-headers
    kubectl auth can-i use none -A
    kubectl auth whoami
    kubectl auth whoami -o yaml
    kubectl auth whoami --as=jane --as-group=team --as-uid=12 -o json
    kubectl auth reconcile -f roles.yaml 2>&1 | head -2
    kubectl auth reconcile -f roles.yaml 2>&1 | head -2
    kubectl auth reconcile -f fewer.yaml --remove-extra-permissions --dry-run=server
    kubectl auth reconcile -f fewer.yaml --remove-extra-permissions --remove-extra-subjects 2>&1 | head -2
    kubectl auth can-i --list --as=jane
    kubectl get configmaps --as=jane
    kubectl get pods --as=jane
    kubectl get pod one --as=jane
    kubectl get nodes --as=jane
    kubectl get pods -A --as=jane
    kubectl create configmap refused --as=jane
    kubectl delete configmap refused --as=jane
    kubectl get --raw /metrics --as=jane
    kubectl create role more --verb='*' --resource=pods --as=jane
    kubectl create clusterrolebinding $NAMESPACE-x --clusterrole=cluster-admin --user=jane --as=jane
    kubectl create rolebinding more --clusterrole=view --user=jane
    kubectl get pods --as=jane
    kubectl get secrets --as=jane
    kubectl describe rolebinding more
    kubectl get pods --as=jane --as-group=x --as-user-extra=a=b
    kubectl create serviceaccount robot
    kubectl create token robot
    kubectl create token robot --duration=10m --audience=me -o jsonpath='{.spec} {.metadata.name}'
    kubectl create token robot --duration=1s
    kubectl create token absent
    kubectl create token robot --bound-object-kind=Pod --bound-object-name=absent
    kubectl --kubeconfig=/dev/null --server=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}') --insecure-skip-tls-verify --token=$(kubectl create token robot) auth whoami -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'
    kubectl --kubeconfig=/dev/null --server=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}') --insecure-skip-tls-verify --token=$(kubectl create token robot) get pods -n $NAMESPACE
    kubectl --kubeconfig=/dev/null --server=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}') --insecure-skip-tls-verify --token=wrong get pods
    kubectl --kubeconfig=/dev/null --server=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}') --insecure-skip-tls-verify get --raw /version | head -3
    sh request.sh jane > jane.yaml; kubectl create -f jane.yaml
    kubectl get csr $NAMESPACE-jane
    kubectl describe csr $NAMESPACE-jane
    kubectl certificate approve $NAMESPACE-jane
    kubectl wait --for=jsonpath='{.status.certificate}' csr/$NAMESPACE-jane --timeout=20s
    kubectl get csr $NAMESPACE-jane
    kubectl get csr $NAMESPACE-jane -o jsonpath='{.status.conditions}'
    kubectl get csr $NAMESPACE-jane -o jsonpath='{.status.certificate}' | base64 -d | openssl x509 -noout -subject -ext extendedKeyUsage,keyUsage
    kubectl get csr $NAMESPACE-jane -o jsonpath='{.status.certificate}' | base64 -d > jane.crt
    kubectl config set-credentials jane --client-certificate=jane.crt --client-key=jane.key
    kubectl --user=jane auth whoami -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'
    kubectl --user=jane get pods -A
    sh request.sh joe > joe.yaml; kubectl create -f joe.yaml
    kubectl certificate deny $NAMESPACE-joe
    kubectl certificate approve $NAMESPACE-joe
    kubectl get csr $NAMESPACE-joe
    kubectl certificate approve absent
    kubectl delete csr $NAMESPACE-jane $NAMESPACE-joe
    kubectl get clusterrole view -o yaml
    kubectl get clusterrole edit -o yaml
    kubectl get clusterrole admin -o jsonpath='{.rules}'
    kubectl describe clusterrole system:node
    kubectl get clusterrolebindings -l kubernetes.io/bootstrapping=rbac-defaults -o wide
    kubectl get clusterroles -l kubernetes.io/bootstrapping=rbac-defaults -o name
    kubectl get roles,rolebindings -A -l kubernetes.io/bootstrapping=rbac-defaults
    echo '{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}' | kubectl create --as=jane -o yaml -f -
    echo '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"jane","resourceAttributes":{"verb":"get","resource":"nodes"}}}' | kubectl create -o yaml -f -
    echo '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"none"}}' | kubectl create -o yaml -f -
  `,
};
