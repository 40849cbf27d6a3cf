"""Small Python programs, made by hypothesis: they always end, and every exception is caught inside."""

from __future__ import annotations

import textwrap
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "c")

# What stands before every program: a class with a property, functions with early returns, and the switch.
PRELUDE = '''
import os

flag = {flag}


class Box:
    """An object with a plain attribute, a property with a setter, and a class attribute."""

    kind = "box"

    def __init__(self, held):
        self.held = held
        self.reads = 0

    @property
    def twice(self):
        self.reads += 1
        return [self.held, self.held]

    @twice.setter
    def twice(self, value):
        self.held = ("set", value)

    @classmethod
    def of(cls, value):
        return cls(value)

    def __eq__(self, other):
        return isinstance(other, Box) and other.held == self.held


class Small(Box):
    kind = "small"

    @property
    def twice(self):
        return super().twice[:1]

    @twice.setter
    def twice(self, value):
        self.held = value


class Refused(ValueError):
    def __init__(self, why):
        super().__init__(why)
        self.why = why


def first(values, default=None, *more, key=None):
    for value in values:
        if value == key:
            continue
        if value:
            return value
    else:
        default = (default, len(more))
    return default


def refuse(value):
    if not value:
        raise Refused("empty")
    return value


def bump(held, by=1):
    held["n"] = held.get("n", 0) + by
    return held["n"]


a, b, c = 0, "x", True
items = [3, 1, 2]
table = {{"k": 1}}
box = Box(1)
small = Small(2)
out = []
'''

READ_BACK = ("a", "b", "c", "items", "table", "out", "seen")


def expressions() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(
        [
            *NAMES,
            "0",
            "1",
            "2",
            "-3",
            "''",
            "'x'",
            "'long'",
            "None",
            "True",
            "False",
            "[]",
            "{}",
            "()",
            "items[:]",
            "dict(table)",
            "len(items)",
            "len(table)",
            "box.held",
            "small.kind",
            "table.get('k')",
            "table.get('z', 7)",
            "'k' in table",
            "list(table)",
            "sorted(table)",
            "sum(items)",
            "items[-1:]",
            "items[:2]",
            "[x for x in items if x != 2]",
            "{x: str(x) for x in items}",
            "{str(x) for x in items} == {'3', '1', '2'}",
            "tuple(x + 1 for x in items)",
            "any(x == 1 for x in items)",
            "all(items)",
            "max(items, default=0)",
            "first(items)",
            "first([0, ''], 5, 1, 2, key=0)",
            "bump(table)",
            "bump(table, by=2)",
            "box.twice",
            "small.twice",
            "Box.of(4).held",
            "isinstance(small, Box)",
            "getattr(box, 'missing', 'none')",
            "hasattr(box, 'held')",
            "dict(table, extra=1)",
            "[*items, 9]",
            "{**table, 'm': 0}",
            "(lambda x, y=2: (x, y))(1)",
            "list(zip(items, 'abc'))",
            "list(enumerate('ab', 1))",
            "list(reversed(items))",
            "'a,b'.split(',')",
            "'-'.join(['p', 'q'])",
            "'Abc'.lower()",
            "'abc'.startswith(('a', 'z'))",
            "'%s-%d' % ('s', 3)",
            "'{}{n}'.format(1, n=2)",
            "list(map(str, items))",
            "list(filter(None, [0, 1, '']))",
            "str([1, 'a'])",
            "repr('q')",
        ]
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["==", "!=", "and", "or"]), inner),
            st.builds(
                "({} {} {})".format, inner, st.sampled_from(["is", "is not"]), st.sampled_from(["None", "box", "items"])
            ),
            st.builds("(not {})".format, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("({}, {})".format, inner, inner),
            st.builds("[{}, {}]".format, inner, inner),
            st.builds("f'{{{}!r}}:{{{}}}'".format, st.sampled_from(NAMES), st.sampled_from(NAMES)),
            st.builds("(1 if isinstance({}, (int, str)) else 0)".format, inner),
            st.builds("({} in [{}, {}])".format, inner, inner, inner),
            st.builds("str({})".format, inner),
            st.builds("bool({})".format, inner),
            st.builds("[y for y in [{}, {}] if y]".format, inner, inner),
        ),
        max_leaves=4,
    )


def conditions() -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(["flag", "not flag", "flag and a", "flag or b", "c if flag else a"]), expressions()
    )


def simple_statements() -> st.SearchStrategy[str]:
    name, value = st.sampled_from(NAMES), expressions()
    return st.one_of(
        st.builds("{} = {}".format, name, value),
        st.builds("{}, {} = {}, {}".format, name, name, value, value),
        st.builds("{} = {} = {}".format, name, name, value),
        st.builds("a: object = {}".format, value),
        st.builds("table['{}'] = {}".format, st.sampled_from("kz"), value),
        st.builds("table.update(z={})".format, value),
        st.builds("items.append({})".format, value),
        st.builds("items += [{}]".format, value),
        st.builds("out.append({})".format, value),
        st.builds("out.extend([{}, 'e'])".format, value),
        st.builds("box.held = {}".format, value),
        st.builds("box.twice = {}".format, value),
        st.builds("small.twice = {}".format, value),
        st.builds("setattr(box, 'held', {})".format, value),
        st.builds("bump(table, by=2)".format),
        st.builds("table.setdefault('s', []).append({})".format, st.sampled_from(["1", "'x'", "items[:]"])),
        st.builds("out.append(table.pop('{}', None))".format, st.sampled_from("kz")),
        st.builds("if (w := {}): out.append(w)".format, value),
        st.just("del items[:1]"),
        st.just("items.insert(0, 5)"),
        st.just("items.extend(x for x in (7, 8))"),
        st.just("out.append(items.pop() if items else None)"),
        st.just("table.pop('k', None)"),
        st.just("items = sorted(items, key=str)"),
        st.just("pass"),
    )


def blocks(depth: int = 2) -> st.SearchStrategy[str]:
    """One or more statements, nested at most ``depth`` deep."""
    one = simple_statements() if depth == 0 else st.one_of(simple_statements(), compound_statements(depth - 1))
    return st.lists(one, min_size=1, max_size=3).map("\n".join)


def indented(block: str) -> str:
    return textwrap.indent(block, "    ")


@st.composite
def compound_statements(draw: st.DrawFn, depth: int) -> str:
    def block() -> str:
        return indented(draw(blocks(depth)))

    kind = draw(
        st.sampled_from(
            ["if", "if-else", "elif", "for", "try", "finally", "function", "while", "loop-flow", "with-raise"]
        )
    )
    test = draw(conditions())
    if kind == "if":
        return f"if {test}:\n{block()}"
    if kind == "if-else":
        return f"if {test}:\n{block()}\nelse:\n{block()}"
    if kind == "elif":
        return f"if {test}:\n{block()}\nelif {draw(conditions())}:\n{block()}\nelse:\n{block()}"
    if kind == "for":
        over = draw(st.sampled_from(["[1, 2]", "list(items)[:3]", "['p', 'q']", "list(table.items())[:2]", "range(2)"]))
        return f"for v in {over}:\n    out.append(v)\n{block()}"
    if kind == "loop-flow":
        leave = draw(st.sampled_from(["break", "continue"]))
        return f"for v in [1, 2, 3]:\n    if {test}:\n        {leave}\n{block()}\nelse:\n    out.append('else')"
    if kind == "while":
        return f"n = 0\nwhile n < 2:\n    n += 1\n{block()}"
    if kind == "try":
        error = draw(st.sampled_from(["KeyError", "(ValueError, TypeError)", "Refused", "Exception"]))
        risky = draw(
            st.sampled_from(
                [
                    "table['none']",
                    "refuse({})",
                    "int('x')",
                    "items[99]",
                    "refuse(a)",
                    "box.gone",
                    "assert not {}",
                    "1 // 0",
                ]
            )
        )
        return (
            f"try:\n    try:\n        if {test}:\n            {risky.format(draw(expressions()))}\n{indented(block())}\n"  # noqa: E501
            f"    except {error} as e:\n        out.append(type(e).__name__)\n{indented(block())}\n"
            f"    else:\n        out.append('fine')\nexcept Exception:\n    out.append('outer')"
        )
    if kind == "finally":
        return f"try:\n    try:\n        if {test}:\n            raise Refused({draw(expressions())})\n    finally:\n        out.append('finally')\nexcept Refused as e:\n    out.append(e.why)"  # noqa: E501
    if kind == "with-raise":
        return f"try:\n    if {test}:\n        raise Refused('r') from None\n{block()}\nexcept ValueError as e:\n    out.append(str(e))"  # noqa: E501
    return (
        f"def made(p, q=None):\n    if {draw(st.sampled_from(['p', 'q', 'flag', 'p == q', 'not p']))}:\n        return (p, 'early')\n"  # noqa: E501
        f"    for r in [p, q]:\n        if r:\n            return [r]\n    out.append('late')\n    return {draw(expressions())}\n"  # noqa: E501
        f"out.append(made({test}))\nout.append(made({draw(expressions())}, q={draw(expressions())}))"
    )


def keeps_its_order(body: str) -> bool:
    """Not both: a key is taken out of ``table``, and one is put in. The order that this leaves is not followed."""
    puts = ("table[", "table.update", "table.setdefault", "bump(table")
    return "table.pop(" not in body or not any(put in body for put in puts)


def programs() -> st.SearchStrategy[str]:
    statements = st.lists(st.one_of(compound_statements(1), simple_statements()), min_size=1, max_size=5)
    return statements.map("\n".join).filter(keeps_its_order)


def whole(body: str, flag: str) -> str:
    """A module that runs ``body``; an exception that leaves it is the last thing seen."""
    return (
        PRELUDE.format(flag=flag)
        + "\nseen = 'end'\ntry:\n"
        + indented(body)
        + "\nexcept Exception as error:\n    seen = type(error).__name__\n"
    )


def run(body: str, flag: bool) -> dict[str, Any]:
    """What Python makes of a program."""
    space: dict[str, Any] = {"__name__": "sglang.prog"}
    exec(compile(whole(body, repr(flag)), "prog.py", "exec"), space)
    return {name: space[name] for name in READ_BACK} | {
        "box": space["box"].held,
        "small": space["small"].held,
        "reads": space["box"].reads,
    }
