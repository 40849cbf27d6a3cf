"""Truth tables: of real trees, and of a tree that was changed so that no list could know it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.environment import Environment
from pathtrace.tracer.table import truth_table
from pathtrace.tracer.table_inputs import Input, _compared
from pathtrace.tracer.table_model import TableRequest, TruthTable
from pathtrace.tracer.table_rows import Box, Result, merged, rows_of
from pathtrace.tracer.tree.model import Tree
from pathtrace.tracer.tree.open import open_tree

MODELS = Path(__file__).parents[1] / "conformance" / "models"
FACTS = {"sm": "90", "gpus": "8", "gpu_memory_mib": "81559"}
V2 = "SGLANG_ENABLE_SPEC_V2"
TOPK, MULTI, PP = "--speculative-eagle-topk", "--enable-multi-layer-eagle", "--pipeline-parallel-size"

Trees = Callable[[str], Tree]


def table(
    tree: Tree, launch: tuple[str, ...] = (), env: Mapping[str, str] | None = None, limit: int = 200
) -> TruthTable:
    values = dict(env or {})
    return truth_table(
        TableRequest(
            tree,
            Environment(values, dict.fromkeys(values, "--env")),
            str(MODELS / "llama" / "config.json"),
            str(MODELS / "llama-eagle3" / "config.json"),
            FACTS,
            launch,
            limit,
        )
    )


def answers(made: TruthTable, algorithm: str, **given: str) -> set[tuple[str, str, str]]:
    """Worker, loop and note of the rows that hold for an algorithm with these cells."""
    names = {"v2": V2, "topk": TOPK, "multi": MULTI, "pp": PP, "overlap": "--disable-overlap-schedule"}
    found = set()
    for row in made.rows:
        cells = dict(zip(made.columns, row, strict=True))
        wanted = {name: given.get(short, "unset") for short, name in names.items() if name in cells}
        holds = all(cells[name] == "any" or value in cells[name].split(" or ") for name, value in wanted.items())
        if holds and algorithm in cells["algorithm"].split(", "):
            found.add((cells["worker"], cells["event loop"], cells["note"]))
    return found


@pytest.fixture(scope="module")
def release(tree: Trees) -> TruthTable:
    return table(tree("0.5.9"))


@pytest.mark.parametrize("algorithm", ["EAGLE", "EAGLE3", "NEXTN"])
def test_the_opt_in_release_for_the_eagle_family(release: TruthTable, algorithm: str) -> None:
    old, new = {("EAGLEWorker", "synchronous", "")}, {("EAGLEWorkerV2", "overlap", "")}
    assert answers(release, algorithm) == answers(release, algorithm, v2="0", topk="2") == old
    assert answers(release, algorithm, v2="1") == answers(release, algorithm, v2="1", topk="1") == new
    ((worker, _loop, note),) = answers(release, algorithm, v2="1", topk="2")
    assert (worker, note[:30]) == ("refused", "refused in resolve: ValueError")
    assert answers(release, algorithm, v2="1", multi="given") == {("MultiLayerEagleWorkerV2", "overlap", "")}
    refused = "refused in dispatch: NameError: name 'ModelRunner' is not defined"
    assert answers(release, algorithm, multi="given") == {("refused", "-", refused)}
    ((worker, _loop, note),) = answers(release, algorithm, pp="2")
    assert (worker, note[:35]) == ("refused", "refused in validate: AssertionError")


def test_the_opt_in_release_for_the_others(release: TruthTable) -> None:
    assert answers(release, "STANDALONE", multi="given") == {("StandaloneWorker", "synchronous", "")}
    assert answers(release, "STANDALONE", v2="1") == {("StandaloneWorkerV2", "overlap", "")}
    assert answers(release, "NGRAM") == answers(release, "NGRAM", v2="1") == {("NGRAMWorker", "synchronous", "")}
    assert not release.bounded
    assert release.evaluations < 150
    assert "--disable-overlap-schedule" not in release.columns
    assert any("--disable-overlap-schedule" in note for note in release.notes)


def test_a_flag_that_matters_only_under_a_variable(tree: Trees) -> None:
    made = table(tree("0.5.4.post3"))
    assert answers(made, "EAGLE3", v2="1") == {("EAGLEWorkerV2", "overlap", "")}
    assert answers(made, "EAGLE3", v2="1", overlap="given") == {("EAGLEWorker", "synchronous", "")}
    assert answers(made, "EAGLE", v2="1", overlap="given") == {("EAGLEWorkerV2", "overlap", "")}
    assert answers(made, "STANDALONE", v2="1") == {("StandaloneWorker", "overlap", "")}


def test_a_tree_with_one_class(tree: Trees) -> None:
    made = table(tree("0.4.6.post5"))
    assert {row[0] for row in made.rows} == {"EAGLE, EAGLE3, NEXTN"}
    assert answers(made, "NEXTN") == {("EAGLEWorker", "synchronous", "")}


def test_the_tree_names_algorithms_and_inputs(mutable_tree: Callable[[str], Path]) -> None:
    root = mutable_tree("0.5.9")
    for path in root.rglob("*.py"):
        text = path.read_text("utf-8")
        if V2 in text or "NGRAM" in text:
            path.write_text(text.replace(V2, "SGLANG_NEW_NAME").replace("NGRAM", "GRAMS"), "utf-8")
    made = table(open_tree(str(root)))
    assert "SGLANG_NEW_NAME" in made.columns
    assert V2 not in made.columns
    assert answers(made, "GRAMS") == {("GRAMSWorker", "synchronous", "")}
    assert not answers(made, "NGRAM")


def test_what_is_given_stays(tree: Trees) -> None:
    made = table(tree("0.5.9"), ("--model-path", "m", "--tp", "2", PP, "1", MULTI), {V2: "1"})
    assert not {V2, PP, MULTI} & set(made.columns)
    assert answers(made, "EAGLE") == {("MultiLayerEagleWorkerV2", "overlap", "")}


@pytest.mark.parametrize("limit", [1, 3, 9])
def test_the_limit_holds_and_is_said(tree: Trees, limit: int) -> None:
    made = table(tree("0.4.6.post5"), limit=limit)
    assert made.bounded
    assert made.evaluations <= limit
    assert all(len(row) == len(made.columns) for row in made.rows)
    assert any("not reached" in note for note in made.notes) is (limit < 4)


def test_a_call_is_no_start(tree: Trees) -> None:
    with pytest.raises(BadInput, match="from a command"):
        table(tree("0.4.6.post5"), ("Engine(model_path='m')",))


@pytest.mark.parametrize(
    ("test", "values"),
    [("x > 1", [1, 2]), ("x >= 4", [3, 4]), ("x < 4", [3, 4]), ("1 < x", [1, 2]), ("x in ('a', 'b')", ["a", "b"])],
)
def test_values_on_either_side_of_a_limit(test: str, values: list[object]) -> None:
    operand = ast.parse("x", mode="eval").body
    assert list(_compared(ast.parse(test, mode="eval").body, operand)) == values


def test_rows_with_one_result_are_merged() -> None:
    variable, flag = Input("V", "variable"), Input("--f", "switch")
    domain = {flag: ("unset", "given"), variable: ("unset", "1", "0")}
    one, two = Result("A", "overlap"), Result("B", "synchronous")
    boxes = [
        Box({variable: frozenset({"unset"}), flag: frozenset({"unset"})}, one),
        Box({variable: frozenset({"0"})}, one),
        Box({variable: frozenset({"unset"}), flag: frozenset({"given"})}, one),
        Box({variable: frozenset({"1"})}, two),
    ]
    left = merged(boxes, domain)
    columns, rows = rows_of({"X": left, "Y": left}, {"X": domain, "Y": domain})
    assert columns == ("algorithm", "V", "worker", "event loop", "note")
    assert rows == (("X, Y", "0 or unset", "A", "overlap", ""), ("X, Y", "1", "B", "synchronous", ""))


def test_without_a_model_it_is_made_for_a_plain_one_and_says_so(tree: Trees, release: TruthTable) -> None:
    made = truth_table(TableRequest(tree("0.5.9"), Environment({}, {}), assume=FACTS))
    assert (made.columns, made.rows) == (release.columns, release.rows)
    assert any("LlamaForCausalLM" in note and "--model-config" in note for note in made.notes)
