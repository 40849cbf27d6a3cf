"""Expressions: one function a node type."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval import operators
from pathtrace.tracer.eval.branches import follow, weigh
from pathtrace.tracer.eval.calls import call, call_args
from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.objects import get_attr
from pathtrace.tracer.eval.operators import roots_of, show, truth
from pathtrace.tracer.eval.scopes import Env
from pathtrace.tracer.eval.values import (
    ABSENT,
    BoundV,
    DictV,
    FunctionV,
    LazyModule,
    LazyName,
    Maybe,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine


def name(m: Machine, node: ast.Name, env: Env) -> Any:
    """A variable, looked up as Python does; raises the tree's NameError."""
    return lookup(m, node.id, env)


def lookup(m: Machine, ident: str, env: Env) -> Any:
    scope: Env | None = env
    while scope is not None:
        if scope.locals is None or ident in scope.locals or (scope.is_class and ident in scope.slots):
            if scope.is_class and scope is not env and scope.function != "comprehension":
                scope = scope.outer
                continue
            value = scope.slots.get(ident, ABSENT)
            if value is not ABSENT:
                m.saw(scope.slots, ident)
                if type(value) is Guarded:
                    return _guarded_name(m, ident, value)
                if type(value) is LazyName or type(value) is LazyModule:
                    value = m.resolve(value)
                    scope.slots[ident] = value
                return value
            if scope.locals is not None and not scope.is_class:
                if m.forgiving(env, ident):
                    return m.forgiven(env, ident)
                m.throw(
                    UnboundLocalError,
                    f"cannot access local variable '{ident}' where it is not associated with a value",
                )
        scope = scope.outer
    return global_name(m, ident, env)


def global_name(m: Machine, ident: str, env: Env) -> Any:
    slots = env.module.slots
    value = slots.get(ident, ABSENT)
    if value is not ABSENT:
        m.saw(slots, ident)
        if type(value) is Guarded:
            return _guarded_name(m, ident, value)
        if type(value) is LazyName or type(value) is LazyModule:
            value = m.resolve(value)
            slots[ident] = value
        return value
    builtin = m.builtins.get(ident, ABSENT)
    if builtin is not ABSENT:
        return builtin
    if ident in env.module.slots.get("*unknown*", ()):
        return Unknown(ident, frozenset())
    if env.module.state == "running" and env.module.slots.get("*star*"):
        return Unknown(ident, frozenset())
    found = m.star_imported(env.module, ident)
    if found is not ABSENT:
        return found
    candidate = getattr(builtins, ident, ABSENT)
    if candidate is not ABSENT:
        return m.external(f"builtins.{ident}")
    m.throw(NameError, f"name '{ident}' is not defined")


def _guarded_name(m: Machine, ident: str, value: Guarded) -> Any:
    test, present = m.presence(value)
    if test is True:
        return m.resolve_cases(m.conditions.restrict(present, m.pc))
    if test is False:
        m.throw(NameError, f"name '{ident}' is not defined")
    m.leave_if(m.conditions.negation(test), NameError, f"name '{ident}' is not defined")
    return m.resolve_cases(m.conditions.restrict(present, m.pc))


def constant(m: Machine, node: ast.Constant, env: Env) -> Any:
    return node.value


def attribute(m: Machine, node: ast.Attribute, env: Env) -> Any:
    obj = m.eval(node.value, env)
    m.line = node.lineno
    return get_attr(m, obj, node.attr)


def call_node(m: Machine, node: ast.Call, env: Env) -> Any:
    r0 = len(m.reads)
    function = m.eval(node.func, env)
    self_from = m.written(r0) if type(function) is BoundV else None
    if type(node.func) is ast.Name and node.func.id in ("super", "locals", "globals", "vars"):
        special = m.scope_call(node, env, function)
        if special is not ABSENT:
            return special
    args = call_args(m, node, env)
    args.self_from = self_from
    m.line = node.lineno
    return call(m, function, args)


def bool_op(m: Machine, node: ast.BoolOp, env: Env) -> Any:
    """``and`` / ``or``: later operands run only where the earlier ones leave it open."""
    is_and = type(node.op) is ast.And

    def rest(index: int) -> Any:
        value = m.operand(node.values[index], env)
        if index == len(node.values) - 1:
            return value
        test = truth(m, value)
        if test is True:
            return rest(index + 1) if is_and else value
        if test is False:
            return value if is_and else rest(index + 1)
        stop = m.conditions.negation(test) if is_and else test
        go = test if is_and else m.conditions.negation(test)

        def stopped() -> Any:
            left = m.conditions.restrict(value, m.pc)
            if type(left) is Unknown:
                known = truth(m, left)
                if known is False and type(left) is Unknown:
                    return False if is_and else left
            return left

        return m.fork([(stop, stopped), (go, lambda: rest(index + 1))])

    return rest(0)


def unary_op(m: Machine, node: ast.UnaryOp, env: Env) -> Any:
    if type(node.op) is ast.Not:
        return operators.negate(m, m.operand(node.operand, env))
    return operators.unary(m, node.op, m.eval(node.operand, env))


def bin_op(m: Machine, node: ast.BinOp, env: Env) -> Any:
    left = m.eval(node.left, env)
    return operators.binary(m, node.op, left, m.eval(node.right, env))


def compare(m: Machine, node: ast.Compare, env: Env) -> Any:
    left = m.operand(node.left, env)
    if len(node.ops) == 1:
        return operators.compare(m, node.ops[0], left, m.operand(node.comparators[0], env))

    def rest(index: int, left: Any) -> Any:
        right = m.operand(node.comparators[index], env)
        result = operators.compare(m, node.ops[index], left, right)
        if index == len(node.ops) - 1:
            return result
        test = truth(m, result)
        if test is True:
            return rest(index + 1, right)
        if test is False:
            return False
        return m.fork([(test, lambda: rest(index + 1, right)), (m.conditions.negation(test), lambda: False)])

    return rest(0, left)


def if_exp(m: Machine, node: ast.IfExp, env: Env) -> Any:
    return follow(m, weigh(m, node, env), lambda: m.eval(node.body, env), lambda: m.eval(node.orelse, env))


def tuple_node(m: Machine, node: ast.Tuple, env: Env) -> Any:
    return _elements(m, node.elts, env)


def list_node(m: Machine, node: ast.List, env: Env) -> Any:
    return m.new_list(_elements(m, node.elts, env))


def _elements(m: Machine, nodes: list[ast.expr], env: Env) -> tuple[Any, ...]:
    items: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            for test, value in m.elements(m.eval(node.value, env)):
                items.append(value if test is True else Maybe(test, value))
        else:
            items.append(m.eval(node, env))
    return tuple(items)


def set_node(m: Machine, node: ast.Set, env: Env) -> Any:
    return m.new_set(_elements(m, node.elts, env))


def dict_node(m: Machine, node: ast.Dict, env: Env) -> Any:
    result = DictV()
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            source = m.eval(value_node, env)
            if type(source) is DictV:
                m.copy_items(source, result)
            else:
                for root in roots_of(m, source) or {show(source)}:
                    result.havoc[root] = True
            continue
        key = m.eval(key_node, env)
        r0 = len(m.reads)
        m.set_item(result, key, m.eval(value_node, env), m.written(r0))
    return result


def subscript(m: Machine, node: ast.Subscript, env: Env) -> Any:
    obj = m.eval(node.value, env)
    if isinstance(node.slice, ast.Slice):
        parts = [
            None if part is None else m.eval(part, env)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return m.get_slice(obj, parts)
    key = m.eval(node.slice, env)
    m.line = node.lineno
    return m.get_item(obj, key)


def slice_node(m: Machine, node: ast.Slice, env: Env) -> Any:
    parts = [None if part is None else m.eval(part, env) for part in (node.lower, node.upper, node.step)]
    return (
        slice(*parts) if all(isinstance(part, (int, type(None))) for part in parts) else Unknown("slice", frozenset())
    )


def joined_str(m: Machine, node: ast.JoinedStr, env: Env) -> Any:
    parts: list[Any] = []
    for item in node.values:
        if isinstance(item, ast.Constant):
            parts.append(item.value)
        elif isinstance(item, ast.FormattedValue):
            value = m.eval(item.value, env)
            spec = m.eval(item.format_spec, env) if item.format_spec is not None else ""
            conversion = chr(item.conversion) if item.conversion != -1 else ""
            parts.append(m.lift(partial(_format, m, conversion), value, spec))
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return m.lift(lambda *pieces: _concat(m, pieces), *parts)


def _format(m: Machine, conversion: str, value: Any, spec: Any) -> Any:
    return m.format_value(value, spec, conversion)


def _concat(m: Machine, pieces: tuple[Any, ...]) -> Any:
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    text = "".join(piece if isinstance(piece, str) else "{" + show(piece) + "}" for piece in pieces)
    return Unknown(text, roots_of(m, *pieces))


def formatted(m: Machine, node: ast.FormattedValue, env: Env) -> Any:
    return m.format_value(m.eval(node.value, env), "", "")


def lambda_node(m: Machine, node: ast.Lambda, env: Env) -> Any:
    defaults = tuple(m.eval(default, env) for default in node.args.defaults)
    kw_defaults = {
        arg.arg: m.eval(default, env)
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    return FunctionV(node, "<lambda>", env, env.module, m.file, defaults, kw_defaults)


def comprehension(m: Machine, node: Any, env: Env, emit: Callable[[Any, Env], None]) -> None:
    """Run the loops of a comprehension and call ``emit(condition, scope)`` for every round."""
    names: set[str] = set()
    for generator in node.generators:
        names.update(item.id for item in ast.walk(generator.target) if isinstance(item, ast.Name))
    scope = Env(env, env.module, (frozenset(names), frozenset(), frozenset(), False), "comprehension")
    start = m.pc

    def loop(depth: int, held: Any) -> None:
        if depth == len(node.generators):
            emit(held, scope)
            return
        generator = node.generators[depth]
        iterable = m.eval(generator.iter, scope if depth else env)
        cells = m.element_sources(iterable)
        for test, value, source in cells:
            present = m.conditions.both(held, test)
            if m.conditions.both(m.pc, present) is False:
                continue
            m.assign(generator.target, value, scope, source)
            kept = present
            for condition in generator.ifs:
                if kept is False:
                    break
                kept = m.conditions.both(kept, _under(m, kept, condition, scope))
            if m.conditions.both(start, kept) is not False:
                loop(depth + 1, kept)

    loop(0, True)


def _under(m: Machine, held: Any, condition: ast.expr, scope: Env) -> Any:
    if held is True:
        return truth(m, m.eval(condition, scope))
    result = m.fork([(held, lambda: truth(m, m.eval(condition, scope))), (m.conditions.negation(held), lambda: False)])
    return result


def _guard(m: Machine, held: Any, thunk: Callable[[], Any]) -> Any:
    if held is True:
        return thunk()
    return m.fork([(held, thunk), (m.conditions.negation(held), lambda: None)])


def list_comp(m: Machine, node: ast.ListComp, env: Env) -> Any:
    items: list[Any] = []

    def emit(held: Any, scope: Env) -> None:
        value = _guard(m, held, lambda: m.eval(node.elt, scope))
        items.append(value if held is True else Maybe(held, m.conditions.restrict(value, held)))

    comprehension(m, node, env, emit)
    return m.new_list(tuple(items))


def set_comp(m: Machine, node: ast.SetComp, env: Env) -> Any:
    items: list[Any] = []

    def emit(held: Any, scope: Env) -> None:
        value = _guard(m, held, lambda: m.eval(node.elt, scope))
        items.append(value if held is True else Maybe(held, m.conditions.restrict(value, held)))

    comprehension(m, node, env, emit)
    return m.new_set(tuple(items))


def dict_comp(m: Machine, node: ast.DictComp, env: Env) -> Any:
    result = DictV()

    def emit(held: Any, scope: Env) -> None:
        key = _guard(m, held, lambda: m.eval(node.key, scope))
        r0 = len(m.reads)
        value = _guard(m, held, lambda: m.eval(node.value, scope))
        write = m.written(r0)
        if held is True:
            m.set_item(result, key, value, write)
        else:
            key = m.conditions.restrict(key, held)
            old = result.slots.get(m.hash_key(key), ABSENT)
            m.set_item(result, key, m.conditions.ite(held, value, old), write)

    comprehension(m, node, env, emit)
    return result


def named_expr(m: Machine, node: ast.NamedExpr, env: Env) -> Any:
    r0 = len(m.reads)
    value = m.eval(node.value, env)
    scope = env
    while scope.function == "comprehension" and scope.outer is not None:
        scope = scope.outer
    m.assign(node.target, value, scope, m.written(r0))
    return value


def yield_node(m: Machine, node: ast.Yield, env: Env) -> Any:
    value = None if node.value is None else m.eval(node.value, env)
    scope: Env | None = env
    while scope is not None and scope.on_yield is None:
        scope = scope.outer
    if scope is not None and scope.on_yield is not None:
        return scope.on_yield(value)
    return None


def yield_from(m: Machine, node: ast.YieldFrom, env: Env) -> Any:
    value = m.eval(node.value, env)
    if env.on_yield is not None:
        for _test, item in m.elements(value):
            env.on_yield(item)
    return None


def await_node(m: Machine, node: ast.Await, env: Env) -> Any:
    return m.eval(node.value, env)


def starred(m: Machine, node: ast.Starred, env: Env) -> Any:
    return m.eval(node.value, env)


EXPRESSIONS: dict[type, Callable[[Any, Any, Env], Any]] = {
    ast.Name: name,
    ast.Constant: constant,
    ast.Attribute: attribute,
    ast.Call: call_node,
    ast.BoolOp: bool_op,
    ast.UnaryOp: unary_op,
    ast.BinOp: bin_op,
    ast.Compare: compare,
    ast.IfExp: if_exp,
    ast.Tuple: tuple_node,
    ast.List: list_node,
    ast.Set: set_node,
    ast.Dict: dict_node,
    ast.Subscript: subscript,
    ast.Slice: slice_node,
    ast.JoinedStr: joined_str,
    ast.FormattedValue: formatted,
    ast.Lambda: lambda_node,
    ast.ListComp: list_comp,
    ast.GeneratorExp: list_comp,
    ast.SetComp: set_comp,
    ast.DictComp: dict_comp,
    ast.NamedExpr: named_expr,
    ast.Yield: yield_node,
    ast.YieldFrom: yield_from,
    ast.Await: await_node,
    ast.Starred: starred,
}
