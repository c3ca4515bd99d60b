"""Checks the manifests of a kustomization by the schemas of Kubernetes, and prints them as JSON.

usage: kubernetes.py FOLDER VERSION...
"""

import json
import pathlib
import sys

import kubernetes_validate
import yaml

folder = pathlib.Path(sys.argv[1])
kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
resources = {}
for name in kustomization["resources"]:
    for resource in yaml.safe_load_all((folder / name).read_text()):
        for version in sys.argv[2:]:
            try:
                kubernetes_validate.validate(resource, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                sys.exit(f"{name} in Kubernetes {version}: {error.message}")
        resources[resource["kind"]] = resource
print(json.dumps({"kustomization": kustomization, "resources": resources}))
