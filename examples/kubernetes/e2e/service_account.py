"""The identity that the operator has in a cluster, from ../deploy/rbac.yaml.

So a run shows that these permissions are enough.
"""

import pathlib
import re

import kube_client

MANIFEST = pathlib.Path(__file__).resolve().parent.parent / "deploy/rbac.yaml"
NAMESPACE = "default"  # in the place of the manifest's own
TOKEN_SECONDS = 7200  # longer than a run

# The collection of each kind in the manifest.
COLLECTIONS = {
    "ServiceAccount": "/api/v1/namespaces/{ns}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding":
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    "RoleBinding":
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
}


def create(client):
    """Applies the manifest. Returns a token of the service account."""
    text = MANIFEST.read_text().replace("namespace: replicator",
                                        f"namespace: {NAMESPACE}")
    for document in text.split("\n---\n"):
        kind = re.search(r"^kind: (\w+)$", document, re.MULTILINE)[1]
        name = re.search(r"^  name: (\S+)$", document, re.MULTILINE)[1]
        path = COLLECTIONS[kind].format(ns=NAMESPACE) + "/" + name
        client.call("PATCH", path + "?fieldManager=e2e", document.encode(),
                    kube_client.APPLY_PATCH)
    return _token(client, "replicator")


def create_powerless(client):
    """Returns a token of a service account without permissions."""
    client.call("POST", COLLECTIONS["ServiceAccount"].format(ns=NAMESPACE),
                {"metadata": {"name": "powerless"}})
    return _token(client, "powerless")


def _token(client, name):
    answer = client.call(
        "POST", COLLECTIONS["ServiceAccount"].format(ns=NAMESPACE)
        + f"/{name}/token", {"spec": {"expirationSeconds": TOKEN_SECONDS}})
    return answer["status"]["token"]
