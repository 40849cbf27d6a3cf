"""The carriers, in real processes: a launcher that spawns schedulers of a stand-in tree (see ``standin``)."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pathtrace.instrument.confirmation import Built, Failed, Line, Live
from pathtrace.instrument.read_line import read_line
from pathtrace.instrument.settings import Prediction
from pathtrace.tests.instrument.standin import (
    LAUNCH,
    SITE_FOLDER,
    environment,
    python,
    write_entry_point,
    write_tree,
)


def launch(environ: dict[str, str], *flags: str, **arguments: object) -> subprocess.CompletedProcess[str]:
    request = json.dumps({**LAUNCH, **arguments})
    return python(*flags, "-m", "sglang.launch_server", request, environ=environ)


def lines(done: subprocess.CompletedProcess[str]) -> list[Line]:
    found = [read_line(line) for line in done.stderr.splitlines()]
    return [line for line in found if line is not None]


@pytest.mark.parametrize("shape", ["inline", "method", "context"])
def test_a_spawned_scheduler_confirms_the_worker_that_it_built(tmp_path: Path, shape: str) -> None:
    tree = write_tree(tmp_path, shape)
    done = launch(environment(SITE_FOLDER, tree, PATHTRACE_RUN="r1"))
    assert done.returncode == 0, done.stderr
    built, prefill, decode = lines(done)
    assert isinstance(built, Built) and isinstance(prefill, Live) and isinstance(decode, Live)
    assert (built.worker, built.module) == ("EAGLEWorker", "sglang.srt.speculative.workers")
    assert built.file == str(tree / "sglang" / "srt" / "speculative" / "workers.py")
    assert built.line is not None
    assert Path(built.file).read_text("utf-8").splitlines()[built.line - 1] == "class EAGLEWorker(TpModelWorker):"
    assert (built.loop, built.algorithm, built.carrier) == ("synchronous", "EAGLE3", "sitecustomize")
    assert (built.mechanism, built.threshold, built.acts_at) == ("observe", None, None)
    assert (built.origin.tensor, built.origin.pipeline, built.origin.data) == (0, 0, None)
    assert built.origin.run == "r1"
    assert (built.predicted, built.agrees, built.problem) == (None, None, None)
    assert [(line.mode, line.size, line.worker) for line in (prefill, decode)] == [
        ("prefill", 2, "EAGLEWorker"),
        ("decode", 2, "EAGLEWorker"),
    ]
    assert done.stdout.splitlines()[1:] == ["step ('v1', 2)", "step ('v1', 2)", "step ('v1', 1)"]


def test_a_threshold_that_a_worker_cannot_act_upon_is_refused_and_its_steps_run(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path), PATHTRACE_THRESHOLD="8"))
    built = lines(done)[0]
    assert isinstance(built, Built)
    assert (built.mechanism, built.threshold, built.acts_at, built.problem) == ("observe", 8, None, None)
    assert built.refused is not None and "EAGLEWorker" in built.refused
    assert f"THE THRESHOLD 8 IS NOT ACTED UPON: {built.refused}" in done.stderr
    assert "disable enabled" not in done.stderr
    assert done.stdout.splitlines()[1:] == ["step ('v1', 2)", "step ('v1', 2)", "step ('v1', 1)"]


def test_every_rank_confirms_with_its_own_number(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path)), tp=2, pp=2)
    built = [line.origin for line in lines(done) if isinstance(line, Built)]
    assert sorted((origin.pipeline, origin.tensor) for origin in built) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len({origin.pid for origin in built}) == 4


def test_the_oldest_entry_method_is_hooked_where_the_worker_has_it(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path, "inline")), worker="OldEAGLEWorker")
    built = lines(done)[0]
    assert isinstance(built, Built)
    assert (built.entry, built.inherited_from) == ("forward_batch_speculative_generation", None)
    assert [line.mode for line in lines(done) if isinstance(line, Live)] == ["prefill", "decode"]


def test_an_inherited_entry_method_says_where_it_is_from(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path)), worker="StandaloneWorkerV2", overlap=True)
    built = lines(done)[0]
    assert isinstance(built, Built)
    assert (built.worker, built.inherited_from, built.loop) == ("StandaloneWorkerV2", "EAGLEWorkerV2", "overlap")


def test_without_speculation_the_server_says_so(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path)), algorithm="NONE")
    (built,) = lines(done)
    assert isinstance(built, Built)
    assert (built.worker, built.algorithm, built.mechanism, built.problem) == (None, None, "none", None)
    assert "no speculative worker in this server" in done.stderr


@pytest.mark.parametrize(
    ("predicted", "prediction", "agrees"),
    [
        ("EAGLEWorker", Prediction("EAGLEWorker"), True),
        ("EAGLEWorkerV2", Prediction("EAGLEWorkerV2"), False),
        ('{"worker": "EAGLEWorker", "loop": "synchronous"}', Prediction("EAGLEWorker", None, "synchronous"), True),
        ('{"worker": "EAGLEWorker", "loop": "overlap"}', Prediction("EAGLEWorker", None, "overlap"), False),
        ('{"worker": null}', Prediction(None), False),
    ],
)
def test_the_static_answer_is_compared_with_what_happened(
    tmp_path: Path, predicted: str, prediction: Prediction, agrees: bool
) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path), PATHTRACE_PREDICTED=predicted))
    built = lines(done)[0]
    assert isinstance(built, Built)
    assert (built.predicted, built.agrees) == (prediction, agrees)
    assert ("DISAGREES" in done.stderr) is not agrees


def test_metrics_are_written_for_each_rank_where_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "metrics" / "pathtrace.prom"
    file.parent.mkdir()
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path), PATHTRACE_METRICS_FILE=str(file)), tp=2)
    assert done.returncode == 0
    assert sorted(path.name for path in file.parent.iterdir() if not path.name.startswith(".")) == [
        "pathtrace-dp0-pp0-tp0.prom",
        "pathtrace-dp0-pp0-tp1.prom",
    ]


def test_variables_that_cannot_be_read_are_named_and_the_server_runs(tmp_path: Path) -> None:
    environ = environment(SITE_FOLDER, write_tree(tmp_path), PATHTRACE_THRESHOLD="-3", PATHTRACE_PREDICTED="{")
    done = launch(environ)
    assert done.returncode == 0
    assert "pathtrace: PATHTRACE_THRESHOLD='-3' is not a whole number from 0; it is ignored" in done.stderr
    assert "pathtrace: PATHTRACE_PREDICTED='{' is neither a class name" in done.stderr


def test_not_asked_for_nothing_of_pathtrace_is_imported(tmp_path: Path) -> None:
    ask = "import sys; print([n for n in sys.modules if n.startswith(('pathtrace', 'wrapt'))], sys._pathtrace_site)"
    done = python("-c", ask, environ=environment(SITE_FOLDER, enable=False))
    assert (done.stdout, done.stderr) == ("[] True\n", "")
    assert launch(environment(SITE_FOLDER, write_tree(tmp_path), enable=False)).stderr == ""


def test_a_process_without_sglang_pays_for_neither_wrapt_nor_dataclasses() -> None:
    ask = "import sys; print([n for n in ('wrapt', 'pathtrace.instrument.hook', 'dataclasses') if n in sys.modules])"
    done = python("-c", ask, environ=environment(SITE_FOLDER))
    assert done.stdout == "[]\n"


def test_the_plugin_alone_carries(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", with_plugins=True)
    done = launch(environment(write_entry_point(tmp_path / "plugin"), tree))
    built = lines(done)[0]
    assert isinstance(built, Built)
    assert built.carrier == "plugin"
    assert [line.mode for line in lines(done) if isinstance(line, Live)] == ["prefill", "decode"]


def test_the_plugin_does_nothing_where_it_is_not_asked_for(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", with_plugins=True)
    done = launch(environment(write_entry_point(tmp_path / "plugin"), tree, enable=False))
    assert (done.returncode, done.stderr) == (0, "")


def test_with_both_carriers_the_first_binds_and_the_worker_is_hooked_once(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", with_plugins=True)
    done = launch(environment(SITE_FOLDER, write_entry_point(tmp_path / "plugin"), tree))
    built = [line for line in lines(done) if isinstance(line, Built)]
    assert [line.carrier for line in built] == ["sitecustomize"]
    assert len([line for line in lines(done) if isinstance(line, Live)]) == 2


@pytest.mark.parametrize("replacement", ["Extending", "Independent"])
@pytest.mark.parametrize("carrier", ["sitecustomize", "plugin"])
def test_a_scheduler_that_a_plugin_puts_in_place_is_the_one_that_confirms(
    tmp_path: Path, carrier: str, replacement: str
) -> None:
    first = SITE_FOLDER if carrier == "sitecustomize" else write_entry_point(tmp_path / "plugin")
    tree = write_tree(tmp_path / "tree", with_plugins=True)
    done = launch(environment(first, tree, REPLACEMENT=replacement))
    found = lines(done)
    assert [type(line) for line in found] == [Built, Live, Live], done.stderr
    assert isinstance(found[0], Built)
    assert (found[0].worker, found[0].carrier) == ("StandaloneWorkerV2", carrier)


def test_grandchildren_are_reached_through_the_environment(tmp_path: Path) -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'sglang.launch_server', sys.argv[1]])"
    done = python("-c", script, json.dumps(LAUNCH), environ=environment(SITE_FOLDER, write_tree(tmp_path)))
    assert [type(line) for line in lines(done)] == [Built, Live, Live]


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_a_process_that_reads_no_pythonpath_or_no_site_is_not_reached(flag: str) -> None:
    done = python(flag, "-c", "import sys; print(hasattr(sys, '_pathtrace_site'))", environ=environment(SITE_FOLDER))
    assert done.stdout == "False\n"


class TestTheUsersOwnSitecustomize:
    def own(self, folder: Path, text: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sitecustomize.py").write_text(text, "utf-8")
        return folder

    @pytest.mark.parametrize("enable", [True, False])
    def test_runs_as_the_module_of_that_name(self, tmp_path: Path, enable: bool) -> None:
        own = self.own(tmp_path, "import sys\nsys.own = __file__\nVALUE = 5\n")
        ask = "import sys, sitecustomize; print(sys.own == sitecustomize.__file__, sitecustomize.VALUE)"
        done = python("-c", ask, environ=environment(SITE_FOLDER, own, enable=enable))
        assert (done.stdout, done.stderr) == ("True 5\n", "")

    def test_runs_once_and_the_next_after_it_does_not(self, tmp_path: Path) -> None:
        first = self.own(tmp_path / "a", "print('first')")
        second = self.own(tmp_path / "b", "print('second')")
        done = python("-c", "pass", environ=environment(SITE_FOLDER, first, second))
        assert done.stdout == "first\n"

    def test_is_reported_by_the_interpreter_when_it_raises(self, tmp_path: Path) -> None:
        own = self.own(tmp_path, "raise ValueError('theirs')")
        ask = "import sys; print(sys._pathtrace_site)"
        done = python("-c", ask, environ=environment(SITE_FOLDER, own))
        alone = python("-c", "pass", environ=environment(own, enable=False))
        assert (done.returncode, done.stdout) == (0, "True\n")
        assert done.stderr == alone.stderr
        assert "ValueError: theirs" in done.stderr

    def test_that_removes_its_own_folder_and_asks_again_makes_no_circle(self, tmp_path: Path) -> None:
        chaining = (
            "import os, sys\nprint('tracer')\nhere = os.path.dirname(__file__)\n"
            "sys.path.remove(here)\ndel sys.modules['sitecustomize']\nimport sitecustomize\nsys.path.insert(0, here)\n"
        )
        tracer = self.own(tmp_path / "tracer", chaining)
        own = self.own(tmp_path / "own", "print('own')")
        done = python("-c", "pass", environ=environment(SITE_FOLDER, tracer, own))
        assert (done.stdout, done.stderr) == ("tracer\nown\n", "")

    def test_that_loads_the_next_one_by_path_makes_no_circle(self, tmp_path: Path) -> None:
        chaining = (
            "import os, sys\nfrom importlib.machinery import PathFinder\nfrom importlib.util import module_from_spec\n"
            "print('tracer')\nrest = [p for p in sys.path if p != os.path.dirname(__file__)]\n"
            "spec = PathFinder.find_spec('sitecustomize', rest)\nspec.loader.exec_module(module_from_spec(spec))\n"
        )
        tracer = self.own(tmp_path / "tracer", chaining)
        own = self.own(tmp_path / "own", "print('own')")
        done = python("-c", "pass", environ=environment(SITE_FOLDER, tracer, own))
        assert (done.stdout, done.stderr) == ("tracer\nown\n", "")

    def test_runs_when_pathtrace_cannot_start(self, tmp_path: Path) -> None:
        broken = tmp_path / "broken"
        site = broken / "instrument" / "site"
        site.mkdir(parents=True)
        (site / "sitecustomize.py").write_bytes((Path(SITE_FOLDER) / "sitecustomize.py").read_bytes())
        (broken / "__init__.py").write_text("", "utf-8")
        (broken / "instrument" / "__init__.py").write_text("raise OSError('disk on fire')", "utf-8")
        own = self.own(tmp_path / "own", "print('own')")
        done = python("-c", "print('served')", environ=environment(site, own))
        assert (done.returncode, done.stdout) == (0, "own\nserved\n")
        (line,) = done.stderr.splitlines()
        failed = read_line(line)
        assert isinstance(failed, Failed)
        assert failed.reason == "the hook could not start: OSError: disk on fire"


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter for which nothing is installed: neither pathtrace nor wrapt."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return str(folder / "bin" / "python")


def test_without_wrapt_the_server_runs_and_says_what_to_install(tmp_path: Path, bare_python: str) -> None:
    environ = environment(SITE_FOLDER, write_tree(tmp_path))
    done = python("-m", "sglang.launch_server", json.dumps(LAUNCH), environ=environ, interpreter=bare_python)
    assert done.returncode == 0
    assert "step ('v1', 2)" in done.stdout
    found = lines(done)
    assert {type(line) for line in found} == {Failed}
    assert len({line.origin.pid for line in found}) == len(found) == 2  # launcher and scheduler
    assert f"install it there: {bare_python} -m pip install wrapt" in done.stderr


def test_a_pathtrace_of_another_interpreter_works_and_adds_nothing_to_the_path(
    tmp_path: Path, bare_python: str
) -> None:
    import wrapt

    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "wrapt").symlink_to(Path(wrapt.__file__).parent)
    environ = environment(SITE_FOLDER, write_tree(tmp_path / "tree"), tmp_path / "only")
    done = python("-m", "sglang.launch_server", json.dumps(LAUNCH), environ=environ, interpreter=bare_python)
    assert [type(line) for line in lines(done)] == [Built, Live, Live]
    ask = "import sys; print('\\n'.join(sys.path))"
    with_us = python("-c", ask, environ=environ, interpreter=bare_python).stdout
    assert with_us == python("-c", ask, environ={**environ, "PATHTRACE_ENABLE": "0"}, interpreter=bare_python).stdout


BLOCKED_WRAPT = """
import sys

class Blocks:
    def find_spec(self, name, path=None, target=None):
        if name == "wrapt":
            raise RuntimeError("wrapt is broken here")

sys.meta_path.insert(0, Blocks())
"""


def test_a_wrapt_that_breaks_on_import_ends_in_one_line_and_a_server(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED_WRAPT, "utf-8")
    done = launch(environment(SITE_FOLDER, tmp_path, write_tree(tmp_path / "tree")))
    assert done.returncode == 0
    reasons = {line.reason for line in lines(done) if isinstance(line, Failed)}
    assert reasons == {"the hook could not start: RuntimeError: wrapt is broken here"}


def test_a_tree_without_a_scheduler_class_is_told_of(tmp_path: Path) -> None:
    tree = write_tree(tmp_path)
    (tree / "sglang" / "srt" / "managers" / "scheduler.py").write_text("", "utf-8")
    done = python("-c", "import sglang.srt.managers.scheduler", environ=environment(SITE_FOLDER, tree))
    assert done.returncode == 0
    (failed,) = lines(done)
    assert isinstance(failed, Failed)
    assert failed.reason == (
        "sglang.srt.managers.scheduler has no class Scheduler: this tree builds its worker elsewhere"
    )


def test_what_the_schedulers_constructor_raises_goes_through(tmp_path: Path) -> None:
    done = launch(environment(SITE_FOLDER, write_tree(tmp_path)), worker="NoSuchWorker")
    assert done.returncode == 1
    assert "AttributeError" in done.stderr and lines(done) == []


def test_a_closed_standard_error_does_not_stop_the_server(tmp_path: Path) -> None:
    environ = environment(SITE_FOLDER, write_tree(tmp_path))
    shell = f'exec {sys.executable} -m sglang.launch_server "$0" 2>&-'
    done = subprocess.run(
        ["sh", "-c", shell, json.dumps(LAUNCH)], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert "step ('v1', 1)" in done.stdout


def test_importing_an_unasked_instrument_takes_less_than_five_milliseconds() -> None:
    ask = (
        "import time; s = time.perf_counter(); import pathtrace.instrument, pathtrace.instrument.plugin as p; "
        "p.load(); print(time.perf_counter() - s)"
    )
    environ = {**environment(enable=False)}
    environ.pop("PYTHONDONTWRITEBYTECODE")
    seconds = [float(python("-c", ask, environ=environ).stdout) for _ in range(5)]
    assert min(seconds) < 0.005


class TestFaultsOfPathtraceItself:
    """Each is put in by a sitecustomize of the user's; each ends in a served request."""

    def with_fault(self, folder: Path, text: str) -> dict[str, str]:
        (folder / "sitecustomize.py").write_text(text, "utf-8")
        return environment(SITE_FOLDER, folder, write_tree(folder / "tree"))

    def test_at_binding(self, tmp_path: Path) -> None:
        fault = "import pathtrace.instrument.confirming as c\ndef fails(*a): raise ValueError('ours')\nc.bind = fails\n"
        done = launch(self.with_fault(tmp_path, fault))
        assert (done.returncode, done.stdout.count("step")) == (0, 3)
        (failed,) = lines(done)
        assert isinstance(failed, Failed)
        assert failed.reason == "the worker could not be hooked: ValueError: ours"

    def test_a_worker_that_cannot_be_hooked_is_still_named(self, tmp_path: Path) -> None:
        fault = (
            "import pathtrace.instrument.confirming as c\n"
            "def fails(*a): raise c.CannotBind('it is frozen')\nc.bind = fails\n"
        )
        done = launch(self.with_fault(tmp_path, fault))
        (built,) = lines(done)
        assert isinstance(built, Built)
        assert (built.worker, built.mechanism, built.problem) == ("EAGLEWorker", "none", "it is frozen")

    def test_in_a_step(self, tmp_path: Path) -> None:
        fault = "import pathtrace.instrument.hook as h\ndef fails(batch): raise ValueError('ours')\nh.size_of = fails\n"
        done = launch(self.with_fault(tmp_path, fault))
        assert (done.returncode, done.stdout.count("step")) == (0, 3)
        assert [type(line) for line in lines(done)] == [Built]
        said = [line for line in done.stderr.splitlines() if line.startswith("pathtrace: the hook of")]
        assert said == [
            "pathtrace: the hook of EAGLEWorker failed and the worker's own step ran; this is said once and counted "
            "from now on: ValueError: ours"
        ]

    def test_a_python_that_is_too_old_is_told_of(self, tmp_path: Path) -> None:
        done = launch(self.with_fault(tmp_path, "import pathtrace.instrument.starting as s\ns.OLDEST = (99, 0)\n"))
        assert (done.returncode, done.stdout.count("step")) == (0, 3)
        reasons = {line.reason for line in lines(done) if isinstance(line, Failed)}
        version = ".".join(map(str, sys.version_info[:2]))
        assert reasons == {f"{sys.executable} is Python {version}, pathtrace needs 99.0 or later"}


def test_of_carriers_that_come_at_once_one_starts(tmp_path: Path) -> None:
    script = (
        "import threading\nfrom pathtrace.instrument import start\n"
        "done, gate = [], threading.Barrier(8)\n"
        "def run(): gate.wait(); done.append(start('plugin'))\n"
        "threads = [threading.Thread(target=run) for _ in range(8)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
        "print(sorted(done))\n"
    )
    done = python("-c", script, environ=environment(enable=False))
    assert done.stdout == f"{[False] * 7 + [True]}\n"
