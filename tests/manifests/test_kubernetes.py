"""Launches in Kubernetes manifests, as the kubelet puts a container's command and environment together."""

from __future__ import annotations

import pytest

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.manifests.kubernetes import launches_in_kubernetes
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.manifests.yaml_launches import launches_in_yaml

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llama
spec:
  replicas: 1
  template:
    spec:
      containers:
        - name: server
          image: lmsysorg/sglang:latest
          command: ["python3", "-m", "sglang.launch_server"]
          args:
            - --model-path
            - $(MODEL)
            - --tp=$(TP)
            - "--host"
            - "0.0.0.0"
          env:
            - name: MODEL
              value: meta-llama/Llama-3.1-8B-Instruct
            - name: TP
              value: "2"
            - name: HF_TOKEN
              valueFrom:
                secretKeyRef:
                  name: hf
                  key: token
"""

CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  TP: "4"
  MODEL: from-map
---
"""


def found(text: str, given: dict[str, str] | None = None) -> list[Found]:
    return launches_in_kubernetes(text, "llm.yaml", given or {})


def launch(text: str, given: dict[str, str] | None = None) -> FoundLaunch:
    (only,) = found(text, given)
    assert isinstance(only, FoundLaunch), only
    return only


def unread(text: str) -> UnreadLaunch:
    (only,) = found(text)
    assert isinstance(only, UnreadLaunch), only
    return only


def pod(*lines: str, kind: str = "Pod") -> str:
    """A manifest whose container has these lines; the first is line 9."""
    head = ["apiVersion: v1", f"kind: {kind}", "metadata:", "  name: p", "spec:", "  containers:", "  - name: c"]
    return "\n".join([*head, "    image: lmsysorg/sglang", *(f"    {line}" for line in lines), ""])


def test_a_deployment() -> None:
    one = launch(DEPLOYMENT)
    assert one.name == "Deployment/llama server"
    assert one.launch.entry == "launch_server"
    assert one.launch.argv == ("--model-path", "meta-llama/Llama-3.1-8B-Instruct", "--tp=2", "--host", "0.0.0.0")
    assert one.launch.env == {
        "MODEL": "meta-llama/Llama-3.1-8B-Instruct",
        "TP": "2",
        "HF_TOKEN": "\0$(HF_TOKEN)\0",
    }
    assert one.launch.outside == "given"
    assert one.notes == ()


def test_every_word_and_variable_has_its_place() -> None:
    one = launch(DEPLOYMENT)
    assert one.spot == Spot(12, 21)
    assert one.words == (Spot(14, 15), Spot(15, 15), Spot(16, 15), Spot(17, 15), Spot(18, 15))
    assert one.variables == {"MODEL": Spot(21, 22), "TP": Spot(23, 22), "HF_TOKEN": Spot(26, 17)}


def test_a_value_that_the_cluster_has_is_what_the_user_states() -> None:
    assert launch(DEPLOYMENT, {"HF_TOKEN": "t", "TP": "8"}).launch.env["HF_TOKEN"] == "t"
    # A value that the manifest states is the manifest's.
    assert launch(DEPLOYMENT, {"HF_TOKEN": "t", "TP": "8"}).launch.env["TP"] == "2"


MULTI_NODE = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: sglang
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
          - name: sglang-leader
            image: lmsysorg/sglang:latest
            command: [python3, -m, sglang.launch_server, --nnodes, $(LWS_GROUP_SIZE), --node-rank, "0"]
    workerTemplate:
      spec:
        containers:
          - name: sglang-worker
            image: lmsysorg/sglang:latest
            command:
              - python3
              - -m
              - sglang.launch_server
              - --dist-init-addr
              - $(LWS_LEADER_ADDRESS):20000
"""


def test_what_a_controller_sets_is_open() -> None:
    leader, worker = found(MULTI_NODE)
    assert isinstance(leader, FoundLaunch) and isinstance(worker, FoundLaunch)
    assert leader.name == "LeaderWorkerSet/sglang sglang-leader"
    assert leader.launch.argv == ("--nnodes", "\0$(LWS_GROUP_SIZE)\0", "--node-rank", "0")
    assert worker.name == "LeaderWorkerSet/sglang sglang-worker"
    assert worker.launch.argv == ("--dist-init-addr", "\0$(LWS_LEADER_ADDRESS)\0:20000")
    leader, _ = found(MULTI_NODE, {"LWS_GROUP_SIZE": "2"})
    assert isinstance(leader, FoundLaunch)
    assert leader.launch.argv[1] == "2"


def test_containers_of_one_name_are_told_apart_by_their_keys() -> None:
    text = MULTI_NODE.replace("sglang-leader", "main").replace("sglang-worker", "main")
    assert [each.name for each in found(text)] == [
        "LeaderWorkerSet/sglang spec.leaderWorkerTemplate.leaderTemplate.spec main",
        "LeaderWorkerSet/sglang spec.leaderWorkerTemplate.workerTemplate.spec main",
    ]


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$(NO)", "$(NO)"),
        ("$(B)", "b1"),
        ("$(LLM_SERVICE_HOST)", "\0$(LLM_SERVICE_HOST)\0"),
    ],
)
def test_references_as_kubernetes_fills_them_in(written: str, becomes: str) -> None:
    env = "env: [{name: A, value: '1'}, {name: B, value: 'b$(A)'}]"
    assert launch(pod(f"args: [sglang, serve, --x, '{written}']", env)).launch.argv == ("--x", becomes)


def test_a_variable_sees_only_those_in_front_of_it() -> None:
    one = launch(pod("command: [sglang, serve]", "env: [{name: A, value: $(B)}, {name: B, value: '1'}]"))
    assert one.launch.env == {"A": "$(B)", "B": "1"}
    assert one.notes == ("`$(B)` stays as it is in Kubernetes, as B is not set there",)


FROM_MAP = ("command: [sglang, serve, --tp, $(TP)]", "envFrom: [{configMapRef: {name: settings}}]")


def test_variables_from_a_config_map_of_the_same_file() -> None:
    one = launch(CONFIG + pod(*FROM_MAP, "env: [{name: MODEL, value: own}]"))
    assert one.launch.argv == ("--tp", "4")
    assert one.launch.env == {"TP": "4", "MODEL": "own"}
    assert one.variables["TP"] == Spot(6, 7)
    assert one.notes == ()


def test_a_prefix_in_front_of_the_names_of_a_config_map() -> None:
    lines = ("command: [sglang, serve, --tp, $(S_TP)]", "envFrom: [{prefix: S_, configMapRef: {name: settings}}]")
    assert launch(CONFIG + pod(*lines)).launch.env == {"S_TP": "4", "S_MODEL": "from-map"}


def test_one_key_of_a_config_map() -> None:
    env = "env: [{name: TP, valueFrom: {configMapKeyRef: {name: settings, key: %s}}}]"
    assert launch(CONFIG + pod("command: [sglang, serve]", env % "TP")).launch.env == {"TP": "4"}
    one = launch(CONFIG + pod("command: [sglang, serve]", env % "NO"))
    assert one.launch.env == {"TP": "\0$(TP)\0"}
    assert one.notes == ("the ConfigMap settings has no NO, which TP needs",)


@pytest.mark.parametrize(
    ("source", "shown"), [("configMapRef", "the ConfigMap settings"), ("secretRef", "the Secret settings")]
)
def test_variables_from_outside_of_the_file_are_open(source: str, shown: str) -> None:
    one = launch(pod("command: [sglang, serve, --tp, $(TP)]", f"envFrom: [{{{source}: {{name: settings}}}}]"))
    assert one.launch.argv == ("--tp", "\0$(TP)\0")
    assert one.launch.unseen == Unseen((shown,))


def test_a_secret_is_not_read_even_from_the_same_file() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: sglang}\nstringData: {TOKEN: hunter2}\n---\n"
    env = "env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: sglang, key: TOKEN}}}]"
    one = launch(secret + pod("command: [sglang, serve, --api-key, $(TOKEN)]", env))
    assert one.launch.argv == ("--api-key", "\0$(TOKEN)\0")
    assert "hunter2" not in repr(one)


@pytest.mark.parametrize("source", ["fieldRef: {fieldPath: status.podIP}", "resourceFieldRef: {resource: limits.cpu}"])
def test_what_the_cluster_fills_in_is_open(source: str) -> None:
    one = launch(pod("command: [sglang, serve, --host, $(IP)]", f"env: [{{name: IP, valueFrom: {{{source}}}}}]"))
    assert one.launch.argv == ("--host", "\0$(IP)\0")


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["args: [--model-path, m]"], "the image's entry point is taken to start the server"),
        (["args: [sglang, serve, --tp, 2]"], "`2` in args is no text, which Kubernetes refuses; put it in quotes"),
        (
            ["args: [sglang, serve]", "env: [{name: A, value: 2}]"],
            "the value of A is no text, which Kubernetes refuses; put it in quotes",
        ),
        (["args: [sglang, serve, --tp, '${TP}']"], "`${TP}` stays as it is: Kubernetes fills in only $(NAME)"),
        (["args: [sglang, serve]", "args: [sglang, serve]"], "`args` stands twice in the container; the last counts"),
    ],
)
def test_what_is_noted(lines: list[str], note: str) -> None:
    assert launch(pod(*lines)).notes == (note,)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["command: sglang serve"], "command is no list, which Kubernetes refuses; write a list of words"),
        (["command: [sglang, serve, [x]]"], "command holds a list or mapping where a word should be"),
        (["command: [/run.sh, sglang, serve]"], "`/run.sh` stands in front of the SGLang server"),
        (["command: [sglang, serve, '{{extra}}']"], "`{{extra}}` may stand for any flags; give the value of {{extra}}"),
        (["command: [sglang, serve, !Ref Extra]"], "`!Ref Extra` may stand for any flags"),
    ],
)
def test_what_cannot_be_told(lines: list[str], reason: str) -> None:
    assert unread(pod(*lines)).reason.startswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        pod(),
        pod("args: [--port, '80']"),
        pod("args: [-c, sglang]"),
        pod("command: [python3, -m, sglang.bench_serving]"),
        pod("command: [sglang, serve]").replace("containers:", "boxes:"),
        "kind: Pod\nspec: {containers: [{image: sglang, command: [sglang, serve]}]}\n",
    ],
)
def test_what_starts_no_server(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "kind", ["Pod", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "RayCluster", "SomethingElse"]
)
def test_any_kind_holds_containers(kind: str) -> None:
    assert launch(pod("command: [sglang, serve]", kind=kind)).name == f"{kind}/p c"


def test_a_list_of_objects_and_its_first_containers() -> None:
    inner = pod("command: [sglang, serve]").replace("containers", "initContainers")
    items = "\n".join(("  - " if number == 0 else "    ") + line for number, line in enumerate(inner.splitlines()))
    one = launch(f"apiVersion: v1\nkind: List\nitems:\n{items}\n")
    assert one.name == "Pod/p c"


def test_manifests_are_told_by_kind_and_version() -> None:
    assert [each.name for each in launches_in_yaml(DEPLOYMENT, "x.yaml", {}, None)] == ["Deployment/llama server"]


def test_a_helm_template_is_to_be_rendered() -> None:
    with pytest.raises(BadInput) as error:
        found(DEPLOYMENT.replace("replicas: 1", "replicas: {{ .Values.replicas }}"))
    assert (
        str(error.value) == "llm.yaml:6: is a template of YAML; render it first (`helm template`) and give the result"
    )


SHELL = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
    - name: c
      image: lmsysorg/sglang
      command: ["/bin/sh", "-c"]
      args:
        - |
          # the model
          export SGLANG_X=1
          exec python3 -m sglang.launch_server \\
            --model-path $(MODEL) --node-rank $RANK
      env:
        - name: MODEL
          value: m
        - name: RANK
          value: "1"
"""


def test_shell_text_in_a_container() -> None:
    one = launch(SHELL)
    assert one.name == "Pod/p c"
    assert one.launch.argv == ("--model-path", "m", "--node-rank", "1")
    assert one.launch.env == {"MODEL": "m", "RANK": "1", "SGLANG_X": "1"}
    assert one.launch.outside == "given"
    assert one.words == (Spot(15, 13), Spot(15, 26), Spot(15, 35), Spot(15, 47))
    assert one.variables == {"MODEL": Spot(18, 18), "RANK": Spot(20, 18), "SGLANG_X": Spot(13, 18)}


def test_a_reference_that_kubernetes_leaves_is_a_command_to_the_shell() -> None:
    env = "env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]"
    one = launch(pod("command: [sh, -c, 'sglang serve --tp $(nproc) --api-key $(KEY)']", env))
    assert one.launch.argv == ("--tp", "\0$(nproc)\0", "--api-key", "\0$(KEY)\0")
    assert not any("Kubernetes" in note for note in one.notes)


def test_shell_text_with_open_flags_cannot_be_told() -> None:
    one = unread(pod("command: [sh, -c]", "args: ['sglang serve $EXTRA']"))
    assert "EXTRA" in one.reason
    assert one.spot == Spot(10, 26)
