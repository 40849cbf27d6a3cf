"""What the environment can ask for, and what of it cannot be read."""

from __future__ import annotations

import pytest

from pathtrace.instrument.settings import Prediction, Settings, read_settings


def test_nothing_is_asked_for_by_nothing() -> None:
    assert read_settings({"PATHTRACE_ENABLE": "1", "PATH": "/bin"}) == Settings()


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        ({"PATHTRACE_THRESHOLD": "32"}, Settings(threshold=32)),
        ({"PATHTRACE_THRESHOLD": " 0 "}, Settings(threshold=0)),
        ({"PATHTRACE_THRESHOLD": ""}, Settings()),
        ({"PATHTRACE_RUN": "a1"}, Settings(run="a1")),
        ({"PATHTRACE_RUN": ""}, Settings()),
        (
            {"PATHTRACE_METRICS_FILE": "/m.prom", "PATHTRACE_METRICS_PORT": "9"},
            Settings(metrics_file="/m.prom", metrics_port=9),
        ),
        ({"PATHTRACE_PREDICTED": "EAGLEWorker"}, Settings(predicted=Prediction("EAGLEWorker"))),
        (
            {"PATHTRACE_PREDICTED": '{"worker": "W", "module": "m.w", "loop": "overlap", "line": 5}'},
            Settings(predicted=Prediction("W", "m.w", "overlap")),
        ),
        ({"PATHTRACE_PREDICTED": '{"worker": null}'}, Settings(predicted=Prediction(None))),
    ],
)
def test_variables_that_can_be_read(variables: dict[str, str], settings: Settings) -> None:
    assert read_settings(variables) == settings


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("PATHTRACE_THRESHOLD", "-1", "PATHTRACE_THRESHOLD='-1' is not a whole number from 0"),
        ("PATHTRACE_THRESHOLD", "8.0", "PATHTRACE_THRESHOLD='8.0' is not a whole number from 0"),
        ("PATHTRACE_THRESHOLD", "٣", "PATHTRACE_THRESHOLD='٣' is not a whole number from 0"),
        (
            "PATHTRACE_THRESHOLD",
            "9" * 5000,
            f"PATHTRACE_THRESHOLD='{'9' * 40}' is not a whole number from 0",
        ),
        ("PATHTRACE_METRICS_FILE", "/metrics/", "PATHTRACE_METRICS_FILE='/metrics/' is a folder, not a file"),
        ("PATHTRACE_METRICS_FILE", "/metrics/..", "PATHTRACE_METRICS_FILE='/metrics/..' is a folder, not a file"),
        ("PATHTRACE_METRICS_PORT", "0", "PATHTRACE_METRICS_PORT='0' is not a whole number from 1 to 65535"),
        ("PATHTRACE_METRICS_PORT", "65536", "PATHTRACE_METRICS_PORT='65536' is not a whole number from 1 to 65535"),
        *(
            (
                "PATHTRACE_PREDICTED",
                value,
                f"PATHTRACE_PREDICTED={value[:40]!r} is neither a class name nor a JSON object with the key worker",
            )
            for value in ("{", "[]", "{}", '{"worker": 5}', '{"worker": "W", "loop": []}', "a b", "[" * 50_000)
        ),
    ],
)
def test_variables_that_cannot_be_read_are_as_good_as_unset(name: str, value: str, problem: str) -> None:
    assert read_settings({name: value}) == Settings(problems=(problem,))


@pytest.mark.parametrize(
    ("prediction", "actual", "agrees"),
    [
        (Prediction("W"), ("W", "m", "overlap"), True),
        (Prediction("W", "m", "overlap"), ("W", "m", "overlap"), True),
        (Prediction("W", "m", "overlap"), ("W", "n", "overlap"), False),
        (Prediction("W", "m", "overlap"), ("W", "m", "synchronous"), False),
        (Prediction("W"), ("V", "m", "overlap"), False),
        (Prediction("W"), (None, None, "overlap"), False),
        (Prediction(None), (None, None, "overlap"), True),
        (Prediction(None, None, "synchronous"), (None, None, "overlap"), True),
        (Prediction(None), ("W", "m", "overlap"), False),
    ],
)
def test_agreement(prediction: Prediction, actual: tuple[str | None, str | None, str | None], agrees: bool) -> None:
    assert prediction.agrees(*actual) is agrees
