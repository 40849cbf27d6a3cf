"""Integer arithmetic of a shell over known values: ``$((BASE + 2 * RANK))``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

SET_IN_ARITHMETIC = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|[-+*/%&|^]?=(?!=)|<<=|>>=)|(?:\+\+|--)\s*([A-Za-z_]\w*)")
_READ = re.compile(r"[\w\s+\-*/%()<>=!]*", re.ASCII)
_NOT_READ = re.compile(
    r"\*\*|//|<<|>>|(?<![<>=!])=(?!=)|\b0[0-9xXbBoO_]|[0-9][A-Za-z_]|_[0-9]|\b(?:and|or|not|if|else|is|in|lambda)\b"
)
_LONGEST = 200
_MOST_BRACKETS = 20
_LARGEST = 2**63


def worked_out(text: str, value_of: Callable[[str], str | None]) -> int | None:
    """The value of an expression, or None where it is not known or not read.

    Args:
        text: the expression, with its ``$`` filled in.
        value_of: the value of a variable that it names.
    """
    text = " ".join(text.split())
    if len(text) > _LONGEST or text.count("(") > _MOST_BRACKETS or len(re.findall(r"[-+!~]", text)) > 60:
        return None
    if not text or not _READ.fullmatch(text) or _NOT_READ.search(text):
        return None
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return None
    value = _value(tree.body, value_of)
    return value if value is not None and -_LARGEST <= value < _LARGEST else None


def _value(node: ast.expr, value_of: Callable[[str], str | None]) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return integer(value_of(node.id))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _value(node.operand, value_of)
        return None if inner is None else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return _binary(node.op, _value(node.left, value_of), _value(node.right, value_of))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node.ops[0], _value(node.left, value_of), _value(node.comparators[0], value_of))
    return None


def _binary(operator: ast.operator, left: int | None, right: int | None) -> int | None:
    if left is None or right is None or abs(left) > _LARGEST or abs(right) > _LARGEST:
        return None
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, (ast.Div, ast.Mod)) and right:
        # A shell rounds towards zero.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if isinstance(operator, ast.Div) else left - quotient * right
    return None


def _compared(operator: ast.cmpop, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    results: dict[type[ast.cmpop], bool] = {
        ast.Eq: left == right,
        ast.NotEq: left != right,
        ast.Lt: left < right,
        ast.LtE: left <= right,
        ast.Gt: left > right,
        ast.GtE: left >= right,
    }
    result = results.get(type(operator))
    return None if result is None else int(result)


def integer(text: str | None) -> int | None:
    """A plain decimal number, or None."""
    if text is None or not re.fullmatch(r"\s*[+-]?(?:0|[1-9][0-9]{0,17})\s*", text, re.ASCII):
        return None
    return int(text)
