"""What is in `deploy/`: every file is what its reader takes, agrees with the others and with the command line.

Nothing here needs a cluster, a Docker daemon or systemd; where kubectl, systemd-analyze or hadolint are installed they are
asked, too. python -m pytest -q tests/whole/test_deploy.py
"""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import kubernetes_validate
import pytest
import yaml

from hearth import __version__
from hearth.cli.root import hearth
from hearth_cloud.cloud_settings import parse_cloud_settings
from hearth_home import device_twins
from tests import ROOT

DEPLOY = ROOT / "deploy"
KUBE, PROXY = DEPLOY / "kubeedge", DEPLOY / "proxy"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in (KUBE / "schemas").glob("*.json")}
KUBERNETES = "1.31"
PROXY_IMAGE = "haproxy:3.0.12"
CLUSTER_SCOPED = ("Namespace", "NodeGroup", "ImagePrePullJob")
TEMPLATES = {
    "Deployment": ("spec.template",),
    "LifelongLearningJob": ("spec.trainSpec.template", "spec.evalSpec.template", "spec.deploySpec.template"),
    "JointInferenceService": ("spec.edgeWorker.template", "spec.cloudWorker.template"),
}
Document = dict[str, Any]


def _is_manifest(path: Path) -> bool:
    is_patch = "components/replicas" in str(path) and path.name != "kustomization.yaml"
    return path.name not in ("kustomization.yaml", "images.yaml") and not is_patch


MANIFESTS = sorted(path for path in (*KUBE.rglob("*.yaml"), *PROXY.glob("*.yaml")) if _is_manifest(path))


def documents() -> list[tuple[str, Document]]:
    """Every object, with the deployments inside applications for many node groups."""
    found = []
    for path in MANIFESTS:
        for document in yaml.safe_load_all(path.read_text()):
            found.append((f"{path.relative_to(DEPLOY)}:{document['kind']}/{document['metadata']['name']}", document))
            for inner in document.get("spec", {}).get("workloadTemplate", {}).get("manifests", ()):
                found.append((f"{path.relative_to(DEPLOY)}:inner {inner['kind']}/{inner['metadata']['name']}", inner))
    return found


DOCUMENTS = documents()
named = pytest.mark.parametrize(("name", "document"), DOCUMENTS, ids=[name for name, _ in DOCUMENTS])


def at(document: Document, path: str) -> Any:
    for key in path.split("."):
        document = document[key]
    return document


def templates() -> Iterator[tuple[str, Document]]:
    for name, document in DOCUMENTS:
        for path in TEMPLATES.get(document["kind"], ()):
            yield f"{name}:{path}", at(document, path)


PODS = list(templates())
pods = pytest.mark.parametrize(("name", "template"), PODS, ids=[name for name, _ in PODS])


def check(document: Document) -> None:
    """As the API server would take it: our schema for KubeEdge's and Sedna's kinds, Kubernetes' own for the others.

    Raises: jsonschema.ValidationError, kubernetes_validate.ValidationError.
    """
    schema = SCHEMAS.get(document["kind"])
    if schema is None:
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        return
    jsonschema.validate(document, schema)
    for path in TEMPLATES.get(document["kind"], ()):
        template = at(document, path)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": template["spec"]}
        kubernetes_validate.validate(pod, KUBERNETES, strict=True)


# ── The manifests ─────────────────────────────────────────────────────────────────────────────────────────


@named
def test_is_valid(name: str, document: Document) -> None:
    check(document)
    is_scoped = document["kind"] in CLUSTER_SCOPED
    generated = name.startswith("kubeedge/cloud/") and "namespace" not in document["metadata"]
    assert is_scoped or generated or document["metadata"]["namespace"] in ("hearth", "hearth-homes")
    assert not (is_scoped and "namespace" in document["metadata"])


def test_all_kinds_are_there() -> None:
    kinds = {document["kind"] for _, document in DOCUMENTS}
    assert kinds >= {*SCHEMAS, "Deployment", "Service", "PersistentVolumeClaim", "NetworkPolicy", "PodDisruptionBudget"}


BROKEN: list[tuple[str, str, Any]] = [
    ("NodeGroup", "spec.matchLabels", None),
    ("NodeGroup", "metadata.namespace", "hearth"),
    ("EdgeApplication", "spec.workloadScope.targetNodeGroups", []),
    ("EdgeApplication", "spec.workloadScope.targetNodeGroups.0.overriders.envOverriders.0.operator", "swap"),
    ("EdgeApplication", "spec.workloadScope.targetNodeGroups.1.overriders.resourcesOverriders.0.value.limits.cpu", 1),
    ("ImagePrePullJob", "spec.imagePrePullTemplate.images", []),
    ("ImagePrePullJob", "spec.imagePrePullTemplate.nodeNames", ["both"]),
    ("ImagePrePullJob", "spec.imagePrePullTemplate.failureTolerate", 0.3),
    ("DeviceModel", "spec.properties.0.type", "BOOL"),
    ("DeviceModel", "spec.properties.0.accessMode", None),
    ("Device", "spec.nodeName", None),
    ("Device", "spec.properties.0.desired.value", "x" * 512),
    ("Device", "spec.properties.0.desired.value", 20.5),
    ("Device", "spec.properties.0.name", "no spaces"),
    ("RuleEndpoint", "spec.ruleEndpointType", "mqtt"),
    ("RuleEndpoint", "spec.ruleEndpointType", "servicebus"),
    ("Rule", "spec.target", None),
    ("Rule", "spec.sourceResource.node_name", None),
    ("Rule", "spec.sourceResource.topic", "hearth/#"),
    ("Rule", "spec.targetResource.resource", "hearth-cloud:8420"),
    ("Dataset", "spec.format", "jsonl"),
    ("Dataset", "spec.nodeName", None),
    ("Model", "spec.url", None),
    ("LifelongLearningJob", "spec.outputDir", None),
    ("LifelongLearningJob", "spec.dataset.trainProb", 1.5),
    ("LifelongLearningJob", "spec.trainSpec.trigger.condition.threshold", "500"),
    ("LifelongLearningJob", "spec.evalSpec.trigger", {}),
    ("LifelongLearningJob", "spec.trainSpec.template.spec.containers.0.arg", ["train"]),
    ("JointInferenceService", "spec.edgeWorker.hardExampleMining", None),
    ("JointInferenceService", "spec.edgeWorker.hardExampleMining.parameters.0.value", 0.7),
    ("JointInferenceService", "spec.cloudWorker.model", None),
    ("JointInferenceService", "spec.cloudWorker.template.spec.containers.0.ports.0.containerPort", "5000"),
    ("ServiceMonitor", "spec.endpoints.0.interval", "30"),
    ("Deployment", "spec.template.spec.containers.0.securityContext.readOnlyRootFileSystem", True),
    ("Deployment", "spec.strategy.type", 1),
    ("Service", "spec.ports.0.port", "http"),
    ("NetworkPolicy", "spec.podselector", {}),
    ("PodDisruptionBudget", "spec.maxUnavailable", None),
    ("PersistentVolumeClaim", "spec.accessMode", ["ReadWriteOnce"]),
]


@pytest.mark.parametrize(("kind", "path", "value"), BROKEN, ids=[f"{kind}-{path}" for kind, path, _ in BROKEN])
def test_what_is_broken_is_refused(kind: str, path: str, value: Any) -> None:
    """One field of a good manifest is changed (None: taken away), and it is good no more."""
    document = copy.deepcopy(next(document for _, document in DOCUMENTS if document["kind"] == kind))
    place: Any = document
    *way, last = path.split(".")
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    if value is None and kind != "PodDisruptionBudget":
        del place[last]
    elif value is None:
        place[last] = {"at": 1}
    else:
        place[last] = value
    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        check(document)


@pods
def test_pods_run_without_rights(name: str, template: Document) -> None:
    spec = template["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    said = spec["securityContext"]
    assert (said["runAsNonRoot"], said["runAsUser"], said["seccompProfile"]["type"]) == (True, 10001, "RuntimeDefault")
    assert not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"].keys() >= {"cpu", "memory"}
        assert container["resources"]["requests"].keys() >= {"cpu", "memory"}
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}


@pods
def test_edge_pods_outlast_the_link(name: str, template: Document) -> None:
    """Autonomy for what is always there; tolerations without seconds for all; images that need not be asked for."""
    spec = template["spec"]
    is_edge = "node-role.kubernetes.io/edge" not in json.dumps(spec.get("affinity", {}))
    if not is_edge or spec.get("nodeName") == "cloud-node":
        assert "tolerations" not in spec
        return
    for key in ("unreachable", "not-ready"):
        wanted = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute"}
        assert wanted in spec["tolerations"]
    if spec.get("restartPolicy") != "OnFailure":
        assert template["metadata"]["labels"]["app-offline.kubeedge.io"] == "autonomy"
    assert all(container["imagePullPolicy"] == "IfNotPresent" for container in spec["containers"])


def test_one_home_and_many_homes_run_the_same_agent() -> None:
    one = yaml.safe_load((KUBE / "edge/deployment.yaml").read_text())
    many = yaml.safe_load((KUBE / "sites/edgeapplication.yaml").read_text())
    del one["spec"]["template"]["spec"]["nodeSelector"]
    assert many["spec"]["workloadTemplate"]["manifests"] == [one]


def test_every_group_of_nodes_is_there_and_has_a_token_of_its_own() -> None:
    groups = [document["metadata"]["name"] for _, document in DOCUMENTS if document["kind"] == "NodeGroup"]
    application = next(document for _, document in DOCUMENTS if document["kind"] == "EdgeApplication")
    targets = application["spec"]["workloadScope"]["targetNodeGroups"]
    assert [target["name"] for target in targets] == groups
    secrets = []
    for target in targets:
        (change,) = target["overriders"]["envOverriders"]
        said = {one["name"]: one for one in change["value"]}
        secrets.append(said["HEARTH_EDGE_TOKEN"]["valueFrom"]["secretKeyRef"]["name"])
    assert len(set(secrets)) == len(groups)


def test_devices_are_twins_that_hearth_knows() -> None:
    models = {d["metadata"]["name"]: d for _, d in DOCUMENTS if d["kind"] == "DeviceModel"}
    devices = [document for _, document in DOCUMENTS if document["kind"] == "Device"]
    assert devices
    for device in devices:
        assert device_twins.DEVICE.fullmatch(f"{device['metadata']['namespace']}/{device['metadata']['name']}")
        known = {p["name"]: p for p in models[device["spec"]["deviceModelRef"]["name"]]["spec"]["properties"]}
        for one in device["spec"]["properties"]:
            model = known[one["name"]]
            assert model["accessMode"] == "ReadWrite" or "desired" not in one
            assert len(one.get("desired", {}).get("value", "").encode()) <= device_twins.MAX_VALUE_BYTES
            assert one["reportToCloud"] is False
            if model["accessMode"] == "ReadWrite":
                assert one["name"] in device_twins.NAMES


def test_rules_join_end_points_that_are_there() -> None:
    ends = {d["metadata"]["name"]: d["spec"]["ruleEndpointType"] for _, d in DOCUMENTS if d["kind"] == "RuleEndpoint"}
    rules = [document["spec"] for _, document in DOCUMENTS if document["kind"] == "Rule"]
    assert {(ends[rule["source"]], ends[rule["target"]]) for rule in rules} == {
        ("eventbus", "rest"),
        ("rest", "eventbus"),
    }


def test_names_that_manifests_rest_on() -> None:
    """Services, models, data sets and secrets by the names under which others ask for them."""
    by_kind: dict[str, set[str]] = {}
    for _, document in DOCUMENTS:
        by_kind.setdefault(document["kind"], set()).add(document["metadata"]["name"])
    job = next(d for _, d in DOCUMENTS if d["kind"] == "LifelongLearningJob")
    joint = next(d for _, d in DOCUMENTS if d["kind"] == "JointInferenceService")
    assert job["spec"]["dataset"]["name"] in by_kind["Dataset"]
    assert {joint["spec"][side]["model"]["name"] for side in ("edgeWorker", "cloudWorker")} <= by_kind["Model"]
    upward = next(d for _, d in DOCUMENTS if d["kind"] == "Rule" and "resource" in d["spec"]["targetResource"])
    host, port = re.match(r"http://([^:/]+):(\d+)/", upward["spec"]["targetResource"]["resource"]).groups()  # type: ignore[union-attr]
    service = next(d for _, d in DOCUMENTS if d["kind"] == "Service" and d["metadata"]["name"] == "hearth-cloud")
    assert host == f"{service['metadata']['name']}.hearth.svc"
    assert int(port) == service["spec"]["ports"][0]["port"]


# ── Settings, images, commands ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", sorted(KUBE.rglob("cloud.toml")), ids=lambda path: path.parent.name)
def test_settings_of_the_service_are_settings(path: Path) -> None:
    settings = parse_cloud_settings(path.read_text(), Path("/etc/hearth/cloud.toml"))
    deployment = next(d for _, d in DOCUMENTS if d["metadata"]["name"] == "hearth-cloud" and d["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert settings.service.host == "0.0.0.0"
    assert settings.service.port == container["ports"][0]["containerPort"]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert any(settings.service.key_file.startswith(f"{mount}/") for mount in mounts)
    if not settings.service.database_env:
        assert settings.database_url({}) == "sqlite:////var/lib/hearth/cloud.db"


def images() -> set[str]:
    found = {container["image"] for _, template in PODS for container in template["spec"]["containers"]}
    found -= {PROXY_IMAGE}
    for _, document in DOCUMENTS:
        found |= set(document.get("spec", {}).get("imagePrePullTemplate", {}).get("images", ()))
    services = compose()["services"].values()
    return found | {one["image"] for one in services if "hearth" in one["image"]}


class Loader(yaml.SafeLoader):
    """Knows Compose's tag that takes back what another file said."""


Loader.add_constructor("!reset", lambda _, __: None)


def compose() -> Document:
    found: Document = yaml.safe_load((DEPLOY / "docker/docker-compose.yaml").read_text())
    return found


def compose_of_replicas() -> Document:
    """As Compose puts the second file on the first: services' keys replace, lists and tables grow."""
    found = compose()
    over = yaml.load((DEPLOY / "docker/docker-compose.replicas.yaml").read_text(), Loader)
    for name, more in over["services"].items():
        service = found["services"].setdefault(name, {})
        for key, value in more.items():
            both = isinstance(value, dict) and isinstance(service.get(key), dict)
            service[key] = service[key] | value if both else value
            if service[key] is None:
                del service[key]
    found["volumes"] |= over["volumes"]
    return found


def dockerfile(name: str) -> list[tuple[str, str]]:
    """Instructions with their arguments; lines that are carried on are one."""
    text = re.sub(r"(?m)^#.*\n", "", (DEPLOY / f"docker/Dockerfile.{name}").read_text()).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def test_images_are_those_that_are_built_at_this_version() -> None:
    assert images() == {f"hearth-edge:{__version__}", f"hearth-cloud:{__version__}"}
    for name in ("edge", "cloud"):
        text = (DEPLOY / f"docker/Dockerfile.{name}").read_text()
        assert f'org.opencontainers.image.version="{__version__}"' in text
        assert f'org.opencontainers.image.title="hearth-{name}"' in text
    for path in KUBE.rglob("kustomization.yaml"):
        for image in yaml.safe_load(path.read_text()).get("images", ()):
            assert f"{image['name']}:{image['newTag']}" in {*images(), PROXY_IMAGE}


@pytest.mark.parametrize("name", ["edge", "cloud"])
def test_dockerfiles_keep_the_rules(name: str) -> None:
    """Two stages, locked by hashes, wheels alone, no root, a health check; hadolint's word where it is installed."""
    steps = dockerfile(name)
    froms = [rest for word, rest in steps if word == "FROM"]
    assert [rest.rpartition(" AS ")[2] for rest in froms] == ["build", name]
    assert not any("latest" in rest for rest in froms)
    last = steps[max(k for k, (word, _) in enumerate(steps) if word == "FROM") :]
    words = [word for word, _ in last]
    assert words.count("USER") == 1
    assert dict(last)["USER"] == "10001:10001"
    assert words.index("USER") > max(k for k, word in enumerate(words) if word == "RUN")
    assert {"HEALTHCHECK", "ENTRYPOINT", "CMD", "STOPSIGNAL", "VOLUME"} <= set(words)
    assert "ADD" not in [word for word, _ in steps]
    installs = [part for _, rest in steps for part in rest.split("&&") if "pip install" in part]
    assert installs
    assert all("--require-hashes" in part or "--no-index" in part for part in installs)
    assert any("PIP_ONLY_BINARY=:all:" in rest for _, rest in steps)
    copied = [source for word, rest in steps if word == "COPY" and "--from" not in rest for source in rest.split()[:-1]]
    for source in copied:
        assert (ROOT / source).exists(), source
    ignored = (DEPLOY / f"docker/Dockerfile.{name}.dockerignore").read_text().splitlines()
    assert {f"!{source}" for source in copied} <= set(ignored)
    if shutil.which("hadolint"):
        subprocess.run(["hadolint", DEPLOY / f"docker/Dockerfile.{name}"], check=True)


@pytest.mark.parametrize(
    ("name", "companions", "extras"),
    [
        ("edge", {"hearth-home": ["mqtt"]}, ["backup", "mail"]),
        ("cloud", {"hearth-cloud": [], "hearth-home": ["mqtt"]}, []),
    ],
)
def test_images_install_what_they_run(name: str, companions: dict[str, list[str]], extras: list[str]) -> None:
    """The lock of an image holds all that its distributions and extras name, each with hashes."""
    import tomllib

    wanted: list[str] = []
    for distribution, chosen in {"": extras, **companions}.items():
        place = ROOT / "packages" / distribution if distribution else ROOT
        table = tomllib.loads((place / "pyproject.toml").read_text())["project"]
        wanted += [*table["dependencies"], *(one for extra in chosen for one in table["optional-dependencies"][extra])]
    names = {re.match(r"[A-Za-z0-9_.-]+", one).group().lower().replace("_", "-") for one in wanted}  # type: ignore[union-attr]
    names -= {"hearth-agent", *companions}
    lock = (ROOT / f"requirements-{name}.lock").read_text()
    pinned = {one.lower().replace("_", "-") for one in re.findall(r"(?m)^([A-Za-z0-9_.-]+)==", lock)}
    assert names <= pinned
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", lock)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


def commands() -> list[tuple[str, list[str]]]:
    """Every command line that something in `deploy/` runs."""
    found = [
        (f"{name} {container['name']}", container["args"])
        for name, template in PODS
        for container in template["spec"]["containers"]
        if container["image"] != PROXY_IMAGE
    ]
    for name, template in PODS:
        for container in template["spec"]["containers"]:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if "exec" in container.get(probe, {}):
                    command = container[probe]["exec"]["command"]
                    assert command[0] == "hearth"
                    found.append((f"{name} {probe}", command[1:]))
    for name in ("edge", "cloud"):
        last = dict(dockerfile(name))
        assert json.loads(last["ENTRYPOINT"]) == ["hearth"]
        found.append((f"Dockerfile.{name}", json.loads(last["CMD"])))
        health = json.loads(last["HEALTHCHECK"].partition("CMD")[2])
        if health[0] == "hearth":
            found.append((f"Dockerfile.{name} health", health[1:]))
    for name, service in compose()["services"].items():
        if "hearth" in service["image"]:
            found.append((f"compose {name}", service["command"]))
    for path in sorted((DEPLOY / "systemd").glob("*.service")):
        (line,) = re.findall(r"(?m)^ExecStart=/opt/hearth/bin/hearth (.*)$", path.read_text())
        found.append((path.name, line.split()))
    application = next(document for _, document in DOCUMENTS if document["kind"] == "EdgeApplication")
    for target in application["spec"]["workloadScope"]["targetNodeGroups"]:
        for change in target["overriders"].get("argsOverriders", ()):
            assert change["operator"] == "add"
            found.append((f"overrider of {target['name']}", ["edge", "run", "--init", *change["value"]]))
    return found


COMMANDS = commands()


def parsed(arguments: list[str]) -> click.Context:
    """The real command line reads it; nothing is run. Raises: click.UsageError."""
    context = hearth.make_context("hearth", list(arguments))
    while isinstance(context.command, click.Group):
        rest = [*context.protected_args, *context.args]
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


@pytest.mark.parametrize(("where", "arguments"), COMMANDS, ids=[where for where, _ in COMMANDS])
@pytest.mark.filterwarnings("ignore:'protected_args':DeprecationWarning")
def test_commands_are_commands(where: str, arguments: list[str]) -> None:
    assert parsed(arguments).command.name == next(word for word in reversed(arguments) if _is_command(word))


def _is_command(word: str) -> bool:
    return word in ("serve", "init", "run", "health", "train", "eval", "infer", "little-model", "big-model")


@pytest.mark.parametrize("arguments", [["edge", "walk"], ["edge", "run", "--initialise"], ["sedna", "train", "x"]])
@pytest.mark.filterwarnings("ignore:'protected_args':DeprecationWarning")
def test_commands_that_are_none_are_refused(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parsed(arguments)


def test_variables_are_read_by_somebody() -> None:
    """Every HEARTH_… variable that is set somewhere is one that the source reads."""
    text = "".join(path.read_text() for part in ("src", "packages") for path in (ROOT / part).rglob("*.py"))
    own, proxy = (KUBE / "components/replicas/cloud.toml").read_text(), (PROXY / "haproxy.cfg").read_text()
    for path in [
        *MANIFESTS,
        *DEPLOY.rglob("deployment.yaml"),
        *(DEPLOY / "docker").iterdir(),
        *(DEPLOY / "systemd").iterdir(),
    ]:
        for name in re.findall(r"HEARTH_[A-Z_]+", path.read_text()):
            assert f'"{name}"' in text or f'"{name}"' in own or f"{{{name}}}" in proxy, f"{path.name}: {name}"


# ── Compose ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("found", [compose(), compose_of_replicas()], ids=["one", "replicas"])
def test_compose_services_run_without_rights(found: Document) -> None:
    for name, service in found["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert int(service["user"].split(":")[0]) > 0
        assert "ports" not in service or name == "proxy"  # the one way in
        assert not service.get("privileged")
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (DEPLOY / "docker" / source).exists()
        for network in service.get("networks", ()):
            assert network in found["networks"]
        for needed in service.get("depends_on", {}):
            assert needed in found["services"]
        if "build" in service:
            assert (DEPLOY / "docker" / service["build"]["context"]).resolve() == ROOT
            assert (ROOT / service["build"]["dockerfile"]).exists()


def test_policies_select_what_global_manager_creates() -> None:
    """Its deployments carry Sedna's own labels and none of the template's (`generateLabels`, `newDeployment` of its
    pkg/globalmanager/runtime/worker.go)."""
    policies = [d for _, d in DOCUMENTS if d["kind"] == "NetworkPolicy"]
    sedna = [d for name, d in DOCUMENTS if name.startswith("sedna/") and d["kind"] == "NetworkPolicy"]
    for policy in sedna:
        selector = policy["spec"]["podSelector"]
        keys = [*selector.get("matchLabels", ()), *(one["key"] for one in selector.get("matchExpressions", ()))]
        assert keys
        assert all(".sedna.io/" in key for key in keys), policy["metadata"]["name"]
    for namespace in ("hearth-homes", None):  # the service's own is given by its kustomization
        denied = [p for p in policies if p["spec"]["podSelector"] == {} and p["metadata"].get("namespace") == namespace]
        assert [p["spec"]["policyTypes"] for p in denied] == [["Ingress", "Egress"]]


# ── kubectl, systemd ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("folder", ["overlays/one-home", "overlays/many-homes", "overlays/sedna", "sedna"])
def test_kustomize_builds_what_is_valid(folder: str) -> None:
    if not shutil.which("kubectl"):
        pytest.skip(
            "kubectl is not installed: the manifests were checked one by one, not as kustomize puts them together"
        )
    built = subprocess.run(["kubectl", "kustomize", KUBE / folder], capture_output=True, text=True, check=True)
    found = [document for document in yaml.safe_load_all(built.stdout) if document]
    for document in found:
        check(document)
        is_scoped = document["kind"] in CLUSTER_SCOPED
        assert is_scoped != ("namespace" in document["metadata"]), document["metadata"]
    if folder.startswith("overlays"):
        pulled = set(re.findall(r"(?:image: |^ +- )((?:registry|hearth-)\S+:\S+)$", built.stdout, re.MULTILINE))
        own = {f"registry.example.org/hearth-{one}:{__version__}" for one in ("edge", "cloud")}
        assert pulled - {f"registry.example.org/{PROXY_IMAGE}"} == own


def test_replicas_share_what_is_no_file_and_stand_behind_the_proxy() -> None:
    if not shutil.which("kubectl"):
        pytest.skip(
            "kubectl is not installed: the manifests were checked one by one, not as kustomize puts them together"
        )
    built = subprocess.run(
        ["kubectl", "kustomize", KUBE / "overlays/many-homes"], capture_output=True, text=True, check=True
    )
    found = {(d["kind"], d["metadata"]["name"]): d for d in yaml.safe_load_all(built.stdout) if d}
    deployment = found["Deployment", "hearth-cloud"]
    assert deployment["spec"]["replicas"] == 3
    assert ("PersistentVolumeClaim", "hearth-cloud") not in found
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    assert set(volumes["data"]) == {"name", "emptyDir"}
    settings = next(d for (kind, name), d in found.items() if kind == "ConfigMap" and name.startswith("hearth-cloud"))
    assert volumes["settings"]["configMap"]["name"] == settings["metadata"]["name"]
    read = parse_cloud_settings(settings["data"]["cloud.toml"], Path("/etc/hearth/cloud.toml")).service
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {read.database_env, read.redis_env, "AWS_SECRET_ACCESS_KEY"} <= {one["name"] for one in container["env"]}
    assert read.objects.startswith("s3://")
    proxy = found["Deployment", "hearth-proxy"]["spec"]["template"]["spec"]
    (variable,) = proxy["containers"][0]["env"]
    replicas = found["Service", "hearth-cloud-replicas"]
    assert variable["value"] == f"{replicas['metadata']['name']}.hearth.svc.cluster.local"
    assert replicas["spec"]["clusterIP"] == "None"
    assert replicas["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    allowed = found["NetworkPolicy", "hearth-cloud-proxy"]["spec"]["ingress"][0]["from"][0]["podSelector"][
        "matchLabels"
    ]
    assert allowed.items() <= found["Deployment", "hearth-proxy"]["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.service")), ids=lambda path: path.name)
def test_units_are_hardened(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text()
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "CapabilityBoundingSet=",
        "PrivateTmp=yes",
    ):
        assert re.search(rf"(?m)^{line}$", text), line
    assert re.search(r"(?m)^StateDirectory=hearth", text)
    assert re.search(r"(?m)^User=hearth", text)
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed: the unit was read, not verified")
    ran = tmp_path / unit.name
    ran.write_text(text.replace("/opt/hearth/bin/hearth", "/bin/true"))
    verified = subprocess.run(["systemd-analyze", "verify", ran], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=20", ran], capture_output=True
    )
    assert judged.returncode == 0, judged.stdout.decode()[-400:]


@pytest.mark.parametrize(
    ("mode", "mine", "is_fine"),
    [(0o440, False, True), (0o400, False, True), (0o600, True, True), (0o640, True, False), (0o444, False, False), (0o460, False, False)],
)  # fmt: skip
def test_the_key_is_read_as_the_cluster_mounts_it(
    mode: int, mine: bool, is_fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret of Kubernetes belongs to root and is read by the pod's group; one's own key by nobody else."""
    from hearth.errors import ConfigError
    from hearth_cloud.statistics import signing

    deployment = next(d for _, d in DOCUMENTS if d["metadata"]["name"] == "hearth-cloud" and d["kind"] == "Deployment")
    (volume,) = [v for v in deployment["spec"]["template"]["spec"]["volumes"] if "secret" in v]
    assert volume["secret"]["defaultMode"] == 0o440
    key = tmp_path / "cloud.key"
    signing.make_key(key)
    key.chmod(mode)
    owner = 0
    monkeypatch.setattr("os.getuid", lambda: owner if mine else 10001)
    real = key.stat()
    monkeypatch.setattr(
        type(key), "stat", lambda self, **_: type("S", (), {"st_mode": real.st_mode, "st_uid": owner})()
    )
    if is_fine:
        signing.read_key(key)
    else:
        with pytest.raises(ConfigError, match="others can read the key"):
            signing.read_key(key)
