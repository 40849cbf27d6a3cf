"""A shortcut for one frequent loop: the search for a key through a list of dictionaries.

``for a, b in LIST: if KEY in b: return b[KEY]`` is how trees with declared resolution read every value.
Evaluating it element by element gives the same result, a hundred times slower.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval.exits import Signal
from pathtrace.tracer.eval.scopes import Env
from pathtrace.tracer.eval.values import ABSENT, DictV

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

_SHAPES: dict[int, tuple[ast.For, tuple[int, ast.expr] | None]] = {}


def shape(node: ast.For) -> tuple[int, ast.expr] | None:
    """The position of the dictionary in the loop's targets and the key's expression, if it is such a loop."""
    known = _SHAPES.get(id(node))
    if known is None or known[0] is not node:
        known = _SHAPES[id(node)] = (node, _shape(node))
    return known[1]


def _shape(node: ast.For) -> tuple[int, ast.expr] | None:
    if node.orelse or len(node.body) != 1 or not isinstance(node.target, ast.Tuple):
        return None
    body = node.body[0]
    if not isinstance(body, ast.If) or body.orelse or len(body.body) != 1 or not isinstance(body.body[0], ast.Return):
        return None
    test, value = body.test, body.body[0].value
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.In)):
        return None
    key, holder = test.left, test.comparators[0]
    if not (isinstance(key, ast.Name) and isinstance(holder, ast.Name) and isinstance(value, ast.Subscript)):
        return None
    if ast.dump(value.value) != ast.dump(ast.Name(holder.id, ast.Load())) or ast.dump(value.slice) != ast.dump(key):
        return None
    names = [item.id if isinstance(item, ast.Name) else "" for item in node.target.elts]
    if holder.id not in names or key.id in names or names.count(holder.id) != 1:
        return None
    return names.index(holder.id), key


def search(
    m: Machine, cells: list[tuple[Any, Any, Any]], position: int, key: ast.expr, env: Env
) -> Signal | None | bool:
    """The loop's outcome: its return, None where nothing is found, False where the shortcut does not apply."""
    wanted = m.eval(key, env)
    if not isinstance(wanted, str):
        return False
    hits: list[tuple[Any, Any, Any]] = []
    left = m.pc
    for present, value, _source in cells:
        if type(value) is not tuple or len(value) <= position:
            return False
        holder = value[position]
        if type(holder) is not DictV or holder.havoc:
            return False
        stored = holder.slots.get(wanted, ABSENT)
        if stored is ABSENT:
            continue
        test, item = m.presence(stored)
        hit = m.conditions.both(present, test)
        if m.conditions.both(left, hit) is False:
            continue
        hits.append((hit, item, holder.slots))
        left = m.conditions.both(left, m.conditions.negation(hit))
        if left is False:
            break
    for _hit, _item, slots in hits:
        m.saw(slots, wanted)
    if not hits:
        return None
    if left is not False:
        cases: list[tuple[Any, Any]] = []
        rest: Any = True
        for hit, item, _where in hits:
            cases.append(
                (m.conditions.both(rest, hit), lambda item=item: Signal("return", m.conditions.restrict(item, m.pc)))
            )
            rest = m.conditions.both(rest, m.conditions.negation(hit))
        outcome: Signal | None = m.fork([*cases, (rest, lambda: None)])
        return outcome
    result = hits[-1][1]
    for hit, item, _where in reversed(hits[:-1]):
        result = m.conditions.ite(hit, item, result)
    return Signal("return", m.conditions.restrict(result, m.pc))
