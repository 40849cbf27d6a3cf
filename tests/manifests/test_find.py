"""Any file -> its launches: which reader it goes to, and what cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.manifests.find import EXTENSIONS, find_launches, kind_of
from pathtrace.tracer.manifests.model import FoundLaunch, Spot, UnreadLaunch

SERVE = "sglang serve --model-path m --tp 2"
DOCKERFILE = 'FROM a\nCMD ["sglang", "serve", "--model-path", "m", "--tp", "2"]\n'
UNIT = f"[Service]\nExecStart={SERVE}\n"
COMPOSE = f"services:\n  llm:\n    image: lmsysorg/sglang\n    command: {SERVE}\n"
ENGINE = "import sglang as sgl\nllm = sgl.Engine(model_path='m', tp_size=2)\n"
ARGV = ("--model-path", "m", "--tp", "2")


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("Dockerfile", "", "dockerfile"),
        ("Dockerfile.cuda", "", "dockerfile"),
        ("cuda.Dockerfile", "", "dockerfile"),
        ("cuda.dockerfile", "", "dockerfile"),
        ("Containerfile", "", "dockerfile"),
        ("Dockerfile.dockerignore", "", None),
        ("MyDockerfile", "", None),
        ("run.sh", "", "shell"),
        ("run.SH", "", "shell"),
        ("run.bash", "", "shell"),
        ("compose.yaml", "", "yaml"),
        ("values.yml", "#!/bin/sh", "yaml"),
        ("sglang@.service", "", "systemd"),
        ("sglang.service.d/10-gpu.conf", "", "systemd"),
        ("nginx.conf", "", None),
        ("serve.py", "#!/bin/sh", "python"),
        ("serve", "#!/bin/bash", "shell"),
        ("serve", "#!/bin/sh -e", "shell"),
        ("serve", "#! /usr/bin/env bash", "shell"),
        ("serve", "#!/usr/bin/env -S A=1 zsh -e", "shell"),
        ("serve.slurm", "#!/usr/bin/dash", "shell"),
        ("serve", "#!/bin/ksh", "shell"),
        ("serve", "#!/usr/bin/fish", None),
        ("serve", "#!/usr/bin/env python3", None),
        ("serve", "bash", None),
        (".env", "#!/bin/sh", None),
        ("prod.env", "", None),
        (".envrc", "#!/bin/bash", None),
        ("README.md", "", None),
        ("", "", None),
        ("a\nb.sh", "", "shell"),
    ],
)
def test_the_reader_for_a_file(name: str, head: str, kind: str | None) -> None:
    assert kind_of(Path(name), head) == kind


def test_every_extension_is_known_by_its_name() -> None:
    assert {extension: kind_of(Path("x" + extension), "") for extension in EXTENSIONS} == EXTENSIONS


@pytest.mark.parametrize(
    ("name", "text", "argv"),
    [
        ("Dockerfile", DOCKERFILE, ARGV),
        ("llm.service", UNIT, ARGV),
        ("run.sh", f"{SERVE}\n", ARGV),
        ("run", f"#!/bin/sh\n{SERVE}\n", ARGV),
        ("compose.yaml", COMPOSE, ARGV),
        ("serve.py", ENGINE, ()),
    ],
)
def test_each_kind_is_read(tmp_path: Path, name: str, text: str, argv: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_text("\ufeff" + text, encoding="utf-8")
    found = find_launches(path, {})
    assert [(each.file, each.launch.argv) for each in found if isinstance(each, FoundLaunch)] == [(str(path), argv)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("notes.txt", SERVE.encode()),
        ("Dockerfile", b'FROM a\nCMD ["python3", "-m", "sglang.launch_server", "--help"]\n'),
        ("run.sh", b"sglang serve -h\n"),
        (".env", b"#!/bin/sh\n" + SERVE.encode()),
        ("run.sh", b"vllm serve m \xff\0"),
        ("broken.yaml", b"a: [\0"),
        ("image.bin", b"sglang\0\xff"),
        ("empty.sh", b""),
    ],
)
def test_a_file_that_holds_no_launch(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert find_launches(path, {}) == []


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b"sglang serve\0", None, "binary"),
        (SERVE.encode("utf-16"), None, "UTF-16"),
        (b"#\n# \xe4\nsglang serve", 2, "not UTF-8"),
        (b"sglang" + b"\n" * (4 << 20), None, "over 4 MB"),
        (b"\n" * (4 << 20) + b"\n" * (1 << 20) + b"sglang", None, "over 4 MB"),
        (b"\n" * (5 << 20) + b"\nsgla" + b"ng", None, "over 4 MB"),
    ],
)
def test_data_that_cannot_be_read(tmp_path: Path, data: bytes, line: int | None, says: str) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=says) as caught:
        find_launches(path, {})
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_a_large_file_that_does_not_mention_sglang_holds_no_launch(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_bytes(b"a: b\n" * (1 << 20))
    assert find_launches(path, {}) == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.symlink_to("nowhere"), "no such file"),
        (lambda path: path.symlink_to(path.name), "cannot be read"),
        (lambda path: os.mkfifo(path), "no plain file"),
    ],
    ids=["missing", "folder", "to nowhere", "to itself", "pipe"],
)
def test_a_path_that_is_no_file(tmp_path: Path, make, says: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "run\n.sh"
    make(path)
    with pytest.raises(BadInput, match=says) as caught:
        find_launches(path, {})
    assert caught.value.file == str(path)


@pytest.mark.parametrize("name", ["a\0b.sh", "x" * 300 + ".sh", "\udcff\0.sh"])
def test_a_path_that_cannot_be(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        find_launches(Path(name), {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(SERVE)
    path.chmod(0)
    with pytest.raises(BadInput, match="cannot be read"):
        find_launches(path, {})


def test_a_symlink_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text(DOCKERFILE)
    (tmp_path / "Dockerfile").symlink_to("kept")
    assert len(find_launches(tmp_path / "Dockerfile", {})) == 1


def test_a_file_without_a_mention_loads_no_reader(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("vllm serve m\n")
    program = (
        "import sys, pathlib\n"
        "from pathtrace.tracer.manifests.find import find_launches\n"
        "assert find_launches(pathlib.Path(sys.argv[1]), {}) == []\n"
        "print(*sorted(name for name in sys.modules if name.startswith('pathtrace.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run.sh")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "pathtrace.tracer",
        "pathtrace.tracer.errors",
        "pathtrace.tracer.launch",
        "pathtrace.tracer.launch.model",
        "pathtrace.tracer.manifests",
        "pathtrace.tracer.manifests.find",
        "pathtrace.tracer.manifests.model",
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["Dockerfile", "a.service", "a.py", "a.sh", "a.yaml", "a.txt"]),
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.booleans(),
)
def test_any_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes, mentions: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data + (b"\nsglang serve --model-path m\n" if mentions else b""))
    try:
        find_launches(path, {})
    except BadInput as error:
        assert error.file == str(path)


def python(tmp_path: Path, text: str, **given_values: str) -> list[FoundLaunch | UnreadLaunch]:
    path = tmp_path / "serve.py"
    path.write_text(text, encoding="utf-8")
    return find_launches(path, given_values)


def test_an_engine_in_python(tmp_path: Path) -> None:
    text = (
        "import sglang as sgl\n"
        "\n"
        "class Server:\n"
        "    def start(self, tp):\n"
        "        'ü'; self.llm = sgl.Engine(\n"
        "            model_path='m',  # small\n"
        '            speculative_algorithm="EAGLE3",\n'
        "            tp_size=tp,\n"
        "            **self.more,\n"
        "        )\n"
    )
    (found,) = python(tmp_path, text)
    assert isinstance(found, FoundLaunch)
    assert found.name == "Server.start"
    assert found.spot == Spot(5, 25)
    assert found.launch.entry == "engine"
    assert found.launch.kwargs == {"model_path": "m", "speculative_algorithm": "EAGLE3"}
    assert found.launch.open_kwargs == ("tp_size=tp", "**self.more")
    assert found.launch.outside == "kept"
    assert found.notes == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("import sglang\nsglang.Engine(model_path='m')", 1),
        ("import sglang as s\ns.Engine(model_path='m')", 1),
        ("from sglang import Engine\nEngine(model_path='m')", 1),
        ("from sglang import Engine as E\nE(model_path='m')", 1),
        ("from sglang.srt.entrypoints.engine import Engine\nEngine(model_path='m')", 1),
        ("from sglang.srt.entrypoints import engine\nengine.Engine(model_path='m')", 1),
        ("def f():\n  import sglang as sgl\n  with sgl.Engine(model_path='m') as e: pass", 1),
        ("import sglang as sgl\nsgl.Engine(model_path='a')\nsgl.Engine(model_path='b')", 2),
        ("import sglang\nfrom sqlalchemy.engine import Engine\nEngine(model_path='m')", 0),
        ("import sglang\nimport vllm\nvllm.Engine(model_path='m')", 0),
        ("import sglang as sgl\nsgl.Engine\nsgl.Runtime(model_path='m')", 0),
        ("import sglang as sgl\n# sgl.Engine(model_path='m')\n'sgl.Engine()'", 0),
        ("from sglang import Engine\nclass Mine(Engine): pass", 0),
        ("from .sglang import Engine\nEngine(model_path='m')", 0),
        ("# sglang and an Engine\nprint(", 0),
    ],
)
def test_which_calls_are_engines(tmp_path: Path, text: str, count: int) -> None:
    assert len(python(tmp_path, text + "\n")) == count


def test_python_that_sets_variables_is_noted(tmp_path: Path) -> None:
    (found,) = python(tmp_path, "import os\nos.environ['SGLANG_X'] = '1'\n" + ENGINE)
    assert isinstance(found, FoundLaunch)
    assert found.notes == (
        "the file sets or reads environment variables in Python, which is not followed; --env states them",
    )


def test_python_that_is_not_valid(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not valid Python") as caught:
        python(tmp_path, "import sglang as sgl\n\nsgl.Engine(model_path='m'\n")
    assert caught.value.line == 3


def test_a_server_that_python_starts(tmp_path: Path) -> None:
    text = (
        "import os, subprocess, sys\n"
        "def serve(model):\n"
        "    return subprocess.Popen(\n"
        '        [sys.executable, "-m", "sglang.launch_server",\n'
        '         "--model-path", model, "--port", f"3{port}0"],\n'
        '        env={**os.environ, "SGLANG_X": "1"},\n'
        "    )\n"
    )
    (found,) = python(tmp_path, text)
    assert isinstance(found, FoundLaunch)
    assert found.name == "serve"
    assert found.spot == Spot(4, 10)
    assert found.launch.entry == "launch_server"
    assert found.launch.argv == ("--model-path", "\0model\0", "--port", "3\0{port}\x000")
    assert found.words == (Spot(5, 10), Spot(5, 26), Spot(5, 33), Spot(5, 43))
    assert found.launch.env == {"SGLANG_X": "1"}
    assert found.variables == {"SGLANG_X": Spot(6, 28)}
    assert found.launch.outside == "kept"


@pytest.mark.parametrize(
    ("call", "outside", "env"),
    [
        ("subprocess.run({})", "kept", {}),
        ("subprocess.check_call(args={})", "kept", {}),
        ("run({})", "kept", {}),
        ("sp.call(tuple_or_list := {})", None, {}),
        ("sp.call({}, env=None)", "kept", {}),
        ("sp.call({}, env={{'A': '1'}})", "none", {"A": "1"}),
        ("sp.call({}, env={{**os.environ.copy(), 'A': '1'}})", "kept", {"A": "1"}),
        ("other.run({})", None, {}),
    ],
)
def test_how_python_starts_a_server(tmp_path: Path, call: str, outside: str | None, env: dict[str, str]) -> None:
    head = "import os, subprocess\nimport subprocess as sp\nfrom subprocess import run\n"
    found = python(tmp_path, head + call.format("['sglang', 'serve', '--model-path', 'm']") + "\n")
    assert [(each.launch.outside, each.launch.env) for each in found if isinstance(each, FoundLaunch)] == (
        [] if outside is None else [(outside, env)]
    )


def test_variables_that_python_works_out_are_noted(tmp_path: Path) -> None:
    (found,) = python(tmp_path, "import subprocess\nsubprocess.run(['sglang', 'serve', '--model-path', 'm'], env=e)\n")
    assert isinstance(found, FoundLaunch)
    assert found.notes == ("the variables in env=e are not known",)


@pytest.mark.parametrize(
    "command",
    ["['sglang', 'serve', '--model-path', 'm', *more]", "['sglang', 'serve', '--model-path', 'm'] + more + ['--x']"],
)
def test_words_that_python_adds_may_be_any_flags(tmp_path: Path, command: str) -> None:
    (found,) = python(tmp_path, f"import subprocess\nsubprocess.run({command})\n")
    assert isinstance(found, UnreadLaunch)
    assert "more" in found.reason


def test_a_list_that_is_added_to_one(tmp_path: Path) -> None:
    text = "import subprocess\nsubprocess.run(['sglang', 'serve'] + ['--model-path'] + ['m'])\n"
    (found,) = python(tmp_path, text)
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == ("--model-path", "m")


def test_a_shell_that_python_starts(tmp_path: Path) -> None:
    (found,) = python(tmp_path, "import subprocess\nsubprocess.run('A=1 sglang serve --model-path m', shell=True)\n")
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == ("--model-path", "m")
    assert found.launch.env == {"A": "1"}
    assert found.words == (Spot(2, 16), Spot(2, 16))


@pytest.mark.parametrize(
    "call",
    [
        "subprocess.run(f'sglang serve --model-path m --tp {tp}', shell=True)",
        "subprocess.run(['bash', '-c', f'sglang serve --model-path m --tp {tp}'])",
        "subprocess.run(['bash', '-c', f'sglang serve --model-path m --tp \"{tp}\"'])",
    ],
)
def test_values_in_text_for_a_shell_that_python_starts(tmp_path: Path, call: str) -> None:
    (found,) = python(tmp_path, f"import subprocess\n{call}\n")
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == ("--model-path", "m", "--tp", "\0{tp}\0")


@pytest.mark.parametrize(
    "text",
    [
        "sglang.Engine(a=" + "-" * 200_000 + "1)",
        "sglang.Engine(a=" + "(" * 150_000,
        "sglang" + ".a" * 200_000 + ".Engine(x=1)",
        "sglang.Engine(model_path='m')\n" * 20_000,
        "from sglang import (\n" * 20_000 + "Engine",
        "subprocess.run(" + " + ".join(["['sglang']"] * 30_000) + ") # Engine",
        "x = f(1)\n" * 50_000 + "sglang.Engine(model_path='m')",
        "# Engine" + " " * (1 << 20),
    ],
    ids=["signs", "brackets", "attributes", "engines", "imports", "sums", "calls", "long"],
)
def test_hostile_python_ends_soon(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    try:
        python(tmp_path, "import sglang, subprocess\n" + text)
    except BadInput as error:
        assert error.file == str(tmp_path / "serve.py")
    assert time.process_time() - started < 5
