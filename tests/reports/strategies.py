"""Answers built by hypothesis: every field, any text, consistent with their outcome."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from pathtrace.tracer import answer as model

text = st.text(max_size=12)
lines = st.integers(min_value=1, max_value=10**6)
loops = st.sampled_from([*get_args(model.EventLoop), None])
places = st.builds(model.Place, text, lines, text)
workers = st.builds(model.Worker, text, text, text, lines)
refusals = st.builds(
    model.Refusal,
    st.sampled_from(get_args(model.Phase)),
    text,
    text,
    st.none() | text,
    st.none() | lines,
    st.none() | text,
)
conditions = st.builds(model.Condition, text, st.lists(text, max_size=2).map(tuple))
origins = st.builds(model.Origin, st.sampled_from(get_args(model.OriginKind)), text, st.none() | places)
readings = st.builds(model.Reading, text, text, st.lists(origins, max_size=2).map(tuple))
scalars = st.none() | st.booleans() | st.integers() | st.floats() | text


def results(outcomes: Any) -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a result that go with its outcome."""
    return outcomes.flatmap(
        lambda outcome: st.fixed_dictionaries(
            {
                "outcome": st.just(outcome),
                "worker": workers if outcome == "worker" else st.none(),
                "event_loop": loops,
                "refusal": refusals if outcome == "refused" else st.none(),
            }
        )
    )


decided = st.sampled_from(["worker", "none", "refused"])
any_outcome = st.sampled_from(get_args(model.Outcome))
edits = st.lists(text, min_size=1, max_size=2).map(tuple)
alternatives = st.builds(lambda when, result: model.Alternative(when, **result), conditions, results(decided))
changes = st.builds(lambda what, result: model.Change(what, **result), edits, results(any_outcome))


def _some(each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(each, max_size=2).map(tuple)


def _answer(result: dict[str, Any], possible: tuple[Any, ...], rest: dict[str, Any]) -> model.Answer:
    return model.Answer(**result, alternatives=possible if result["outcome"] == "undecided" else (), **rest)


answers = st.builds(
    _answer,
    results(any_outcome),
    _some(alternatives),
    st.fixed_dictionaries(
        {
            "tree": st.builds(model.TreeInfo, text, st.sampled_from(["directory", "git"]), text, st.none() | text),
            "possible_refusals": _some(st.builds(model.PossibleRefusal, conditions, refusals)),
            "resolved": st.dictionaries(text, scalars, max_size=3),
            "decisions": _some(
                st.builds(
                    model.Decision,
                    st.sampled_from(["branch", "write", "choice"]),
                    places,
                    text,
                    st.lists(readings, max_size=2).map(tuple),
                )
            ),
            "warnings": _some(st.builds(model.LogLine, text, text, places, st.none() | conditions)),
            "changes": _some(changes),
            "changes_note": st.none() | text,
            "ignored": _some(
                st.builds(
                    model.Ignored,
                    st.sampled_from(["variable", "flag"]),
                    text,
                    text,
                    st.sampled_from(["unread", "warned", "overwritten"]),
                    st.none() | text,
                    st.none() | places,
                )
            ),
            "assumptions": _some(
                st.builds(model.Assumption, text, st.none() | text, st.sampled_from(["default", "given", "unknown"]))
            ),
            "expect": st.none() | st.builds(model.Expect, text, st.booleans()),
            "findings": _some(
                st.builds(model.Finding, st.from_regex(r"PT[0-9]{3}", fullmatch=True), text, st.none() | places)
            ),
            "notes": _some(text),
        }
    ),
)
