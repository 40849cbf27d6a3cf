"""The launch as people write it: which program, which words, which environment."""

from __future__ import annotations

import pytest

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Launch
from pathtrace.tracer.launch.parse import parse_launch

SERVER = "python -m sglang.launch_server --model-path m"
FLAGS = ("--model-path", "m")


def refusal(*words: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse_launch(words)
    return str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        "python -m sglang.launch_server",
        "python3.11 -m sglang.launch_server",
        "/usr/bin/python3 -u -X importtime -m sglang.launch_server",
        "python -um sglang.launch_server",
        "python -msglang.launch_server",
        "python -W ignore -m cProfile -o out.prof -m sglang.launch_server",
        "python path/to/launch_server.py",
        "uv run -m sglang.launch_server",
    ],
)
def test_launch_server_is_found_behind_every_way_to_call_python(program: str) -> None:
    expected = Launch(entry="launch_server", argv=FLAGS)
    assert parse_launch([f"{program} --model-path m"]) == expected
    assert parse_launch([*program.split(), *FLAGS]) == expected


@pytest.mark.parametrize(
    "program",
    [
        "sglang serve",
        "/opt/venv/bin/sglang serve",
        "python -m sglang.cli.main serve",
        "python -m sglang serve",
        "python /opt/venv/bin/sglang serve",
    ],
)
def test_serve_keeps_a_positional_model(program: str) -> None:
    assert parse_launch([f"{program} org/m --tp 2"]) == Launch(entry="serve", argv=("org/m", "--tp", "2"))


def test_flags_alone_are_a_bare_launch() -> None:
    assert parse_launch(["--model-path", "m"]) == Launch(entry="bare", argv=FLAGS)
    assert parse_launch(["--model-path=m"]) == Launch(entry="bare", argv=("--model-path=m",))
    assert parse_launch(["A=1", "--model-path", "m"]) == Launch(entry="bare", argv=FLAGS, env={"A": "1"})


@pytest.mark.parametrize(
    "prefix",
    [
        "nohup",
        "exec",
        "time",
        "nice -n 5",
        "nice -10",
        "setsid -w",
        "taskset -c 0-7",
        "stdbuf -oL -e L",
        "timeout -s KILL 10m",
        "timeout --signal=KILL --kill-after 5 10",
        "numactl --cpunodebind=0 --membind 0",
        "numactl -N0 -m 0 -l",
        "sudo -E",
        "sudo -u someone -E",
        "nsys profile -t cuda,nvtx -o out",
        "py-spy record -o out.svg --",
        "conda run -n env --no-capture-output",
        "uv run --no-sync",
        "nohup numactl -i all nice",
    ],
)
def test_a_prefix_changes_neither_words_nor_environment(prefix: str) -> None:
    assert parse_launch([f"{prefix} {SERVER}"]) == Launch(entry="launch_server", argv=FLAGS)


@pytest.mark.parametrize(
    ("launch", "env"),
    [
        (f"A=1 B='x y' {SERVER}", {"A": "1", "B": "x y"}),
        (f"export A=1; {SERVER}", {"A": "1"}),
        (f"export A=1 B=2 && {SERVER}", {"A": "1", "B": "2"}),
        (f"A=1\nexport A\n{SERVER}", {"A": "1"}),
        (f"declare -x A=1; {SERVER}", {"A": "1"}),
        (f"set -a; A=1; set +a; {SERVER}", {"A": "1"}),
        (f"env A=1 {SERVER}", {"A": "1"}),
        (f"nohup env A=1 numactl -l env B=2 {SERVER}", {"A": "1", "B": "2"}),
        (f"uv run env A=1 {SERVER}", {"A": "1"}),
        (f"sudo A=1 {SERVER}", {"A": "1"}),
        (f"export A=1; A=2 {SERVER}", {"A": "2"}),
        (f"export A=1; A=2; {SERVER}", {"A": "2"}),
        (f"export A=1; A+=2; {SERVER}", {"A": "12"}),
        (f"A=1 true; {SERVER}", {}),
        (f"export A=1 | true; {SERVER}", {}),
        (f"export A=1; unset A; unset B; export B=2; {SERVER}", {"B": "2"}),
        (f"export A=1; bash -lc 'export B=2; exec {SERVER}'", {"A": "1", "B": "2"}),
    ],
)
def test_variables_of_the_launch(launch: str, env: dict[str, str]) -> None:
    assert parse_launch([launch]).env == env


def test_removed_variables_are_told_from_those_never_set() -> None:
    assert parse_launch([f"unset A; env -u B {SERVER}"]).unset == {"A", "B"}
    assert parse_launch([f"unset A; export A=1; {SERVER}"]).unset == frozenset()


def test_an_assignment_without_export_does_not_reach_the_server() -> None:
    launch = parse_launch([f"SGLANG_ENABLE_SPEC_V2=1; {SERVER}"])
    assert launch.env == {}
    assert launch.unexported == {"SGLANG_ENABLE_SPEC_V2": "1"}


def test_env_i_lets_nothing_through() -> None:
    launch = parse_launch([f"export A=1; env -i B=2 {SERVER}"])
    assert (launch.outside, launch.env) == ("none", {"B": "2"})


def test_a_container_sees_only_what_is_passed_in() -> None:
    launch = parse_launch(
        [
            "export A=1 Z=9; docker run --rm -it --gpus all --shm-size 32g -p 30000:30000 -e A --env B=2 "
            f"-eC=3 -e HF_TOKEN --name sglang --ipc=host lmsysorg/sglang:latest {SERVER}"
        ]
    )
    assert launch.argv == FLAGS
    assert launch.env == {"A": "1", "B": "2", "C": "3"}
    assert (launch.outside, launch.forwarded) == ("given", {"HF_TOKEN"})


def test_a_container_with_a_shell_inside() -> None:
    launch = parse_launch([f'kubectl exec -it pod -- bash -lc "A=1 {SERVER}"'])
    assert (launch.argv, launch.env, launch.outside) == (FLAGS, {"A": "1"}, "given")


def test_entrypoint_is_the_program() -> None:
    launch = parse_launch(["docker run --entrypoint python3 image -m sglang.launch_server --model-path m"])
    assert (launch.entry, launch.argv) == ("launch_server", FLAGS)


def test_words_split_by_the_shell_keep_a_dollar() -> None:
    words = ["A=$B", "python", "-m", "sglang.launch_server", "--model-path", "$HOME/m", "--x={1,2}"]
    launch = parse_launch(words)
    assert launch.argv == ("--model-path", "$HOME/m", "--x={1,2}")
    assert launch.env == {"A": "$B"}


def test_a_search_path_that_extends_the_callers_is_noted() -> None:
    launch = parse_launch([f"export LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\nsource env.sh\n{SERVER}"])
    assert launch.env == {}
    assert launch.unparsed == ("source env.sh", "LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH")


@pytest.mark.parametrize(
    ("launch", "says"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("python foo.py", "no SGLang server in 'python foo.py'; write `python -m sglang.launch_server"),
        ("python -m sglang_router.launch_server --model-path m", "no SGLang server"),
        ("python -m sglang", "no SGLang server"),
        ("sglang version", "no SGLang server"),
        (f"torchrun --nproc-per-node 2 {SERVER}", "'torchrun' stands in front"),
        (f"{SERVER} 'x", "line 1 of the launch opens a single quote"),
        (f'A=1\n{SERVER} "x', "line 2 of the launch opens a double quote"),
        (f"{SERVER} --tp $TP", "needs the value of $TP"),
        (f"{SERVER} --tp ${{TP:-8}}", "needs the value of ${TP:-8}"),
        (f"{SERVER} --host $(hostname -i)", "needs the value of $(hostname -i)"),
        (f"TP=$(nproc)\n{SERVER} --tp $TP", "needs the value of TP=$(nproc)"),
        (f"export SGLANG_X=$Y; {SERVER}", "needs the value of SGLANG_X=$Y"),
        ("$PYTHON -m sglang.launch_server", "needs the value of $PYTHON"),
        (f"{SERVER}\0", "NUL"),
        (f"{SERVER} {'x' * (1 << 20)}", "over 1 MB"),
        (f"{SERVER} &\n{SERVER}", "starts 2 SGLang servers"),
        (f"{SERVER}\n  --tp 8", "line 2 of the launch starts with a flag"),
        (f"{SERVER} \\ \n  --tp 8", "blanks or a comment after its backslash"),
        (f"{SERVER} --tp {{1,2}}", "would expand the braces"),
        (f"if true; then {SERVER}; fi", "inside `if`"),
        (f"if true; then export A=1; fi; {SERVER}", "inside `if`"),
        (f"false || {SERVER}", "behind `||`"),
        (f"[ -z x ] && export A=1; {SERVER}", "behind a test"),
        (f"({SERVER})", "parenthesis"),
        (f"export A=1; sudo {SERVER}", "plain sudo drops variables set in front of it (A)"),
        (f"numactl --frobnicate 3 {SERVER}", "option --frobnicate of numactl is not known"),
        (f"docker run --env-file F image {SERVER}", "give `--env-file F` to pathtrace"),
        ("docker run lmsysorg/sglang --model-path launch_server", "the image decides"),
        (f"uv run --env-file F {SERVER}", "option --env-file of uv sets variables"),
        (f"kubectl exec pod {SERVER}", "add the `--`"),
    ],
)
def test_what_cannot_be_told_is_refused_in_one_sentence(launch: str, says: str) -> None:
    assert says in refusal(launch)


def test_commands_that_start_no_server_are_not_held_to_the_rules() -> None:
    script = f"""#!/bin/bash
    set -ex
    git clone $URL sglang   # not the server's business
    echo "sglang.launch_server at $(date)"
    pkill -f sglang.launch_server || true
    for i in 1 2 3; do sleep $i; done
    {SERVER} 2>&1 | tee "$LOG" &
    wait
    """
    assert parse_launch([script]) == Launch(entry="launch_server", argv=FLAGS)
