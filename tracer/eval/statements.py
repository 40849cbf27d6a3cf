"""Statements: one function a node type. A statement gives None, or the Signal by which it leaves."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pathtrace.tracer.eval import operators
from pathtrace.tracer.eval.branches import follow, weigh
from pathtrace.tracer.eval.calls import call
from pathtrace.tracer.eval.classes import class_def, decorate
from pathtrace.tracer.eval.conditions import Guarded
from pathtrace.tracer.eval.exits import Dead, Frame, Pending, Raised, Signal
from pathtrace.tracer.eval.imports import import_from, import_name
from pathtrace.tracer.eval.objects import get_attr, set_attr
from pathtrace.tracer.eval.operators import roots_of, show, truth
from pathtrace.tracer.eval.scopes import Env
from pathtrace.tracer.eval.searches import search, shape
from pathtrace.tracer.eval.slots import Slots
from pathtrace.tracer.eval.values import (
    ABSENT,
    Args,
    BoundV,
    ClassV,
    DictV,
    External,
    FunctionV,
    Instance,
    ListV,
    Native,
    Unknown,
)

if TYPE_CHECKING:
    from pathtrace.tracer.eval.machine import Machine

MOST_ROUNDS = 5000
MOST_UNDECIDED = 8  # rounds of a loop whose end is not known


def expr(m: Machine, node: ast.Expr, env: Env) -> None:
    if type(node.value) is not ast.Constant:
        m.eval(node.value, env)


def assign(m: Machine, node: ast.Assign, env: Env) -> None:
    r0 = len(m.reads)
    value = m.eval(node.value, env)
    m.line = node.lineno
    write = m.written(r0)
    for target in node.targets:
        m.assign(target, value, env, write)


def ann_assign(m: Machine, node: ast.AnnAssign, env: Env) -> None:
    if env.is_class and isinstance(node.target, ast.Name):
        env.slots.setdefault("*annotations*", {})[node.target.id] = (node.annotation, env)
    if not m.postponed(env) and (env.is_class or env.locals is None):
        m.eval(node.annotation, env)
    if node.value is not None:
        r0 = len(m.reads)
        value = m.eval(node.value, env)
        m.line = node.lineno
        m.assign(node.target, value, env, m.written(r0))


def aug_assign(m: Machine, node: ast.AugAssign, env: Env) -> None:
    r0 = len(m.reads)
    target = node.target
    load: ast.expr
    if isinstance(target, ast.Name):
        load = ast.Name(target.id, ast.Load())
    elif isinstance(target, ast.Attribute):
        load = ast.Attribute(target.value, target.attr, ast.Load())
    else:
        load = ast.Subscript(target.value, target.slice, ast.Load())
    ast.copy_location(load, node.target)
    left = m.eval(load, env)
    right = m.eval(node.value, env)
    if type(left) is ListV and type(node.op) is ast.Add:
        call(m, get_attr(m, left, "extend"), Args([right]))
        value: Any = left
    elif type(left) is DictV and type(node.op) is ast.BitOr:
        call(m, get_attr(m, left, "update"), Args([right]))
        value = left
    else:
        value = operators.binary(m, node.op, left, right)
    m.assign(node.target, value, env, m.written(r0))


def if_stmt(m: Machine, node: ast.If, env: Env) -> Signal | None:
    signal: Signal | None = follow(
        m, weigh(m, node, env), lambda: m.exec_block(node.body, env), lambda: m.exec_block(node.orelse, env)
    )
    return signal


def for_stmt(m: Machine, node: ast.For, env: Env) -> Signal | None:
    iterable = m.eval(node.iter, env)
    if type(iterable) in (Unknown, External):
        return _unknown_loop(m, node, env, iterable)
    cells = m.element_sources(iterable)
    found = shape(node)
    if found is not None:
        outcome = search(m, cells, *found, env)
        if not isinstance(outcome, bool):
            return outcome

    def rounds() -> Signal | None:
        for count, (present, value, source) in enumerate(cells):
            if count > MOST_ROUNDS:
                m.give_up(f"a loop of more than {MOST_ROUNDS} rounds")
            if m.conditions.both(m.pc, present) is False:
                continue

            def body(value: Any = value, source: Any = source) -> Signal | None:
                m.assign(node.target, value, env, source)
                return _round(m, node.body, env)

            if present is True or m.conditions.implies(m.pc, present):
                signal = body()
            elif _idle_round(m, node, present, body, env):
                continue
            else:
                signal = m.fork([(present, body), (m.conditions.negation(present), lambda: None)])
            if signal is not None:
                return signal
        return m.exec_block(node.orelse, env)

    return _loop(m, rounds)


def _idle_round(m: Machine, node: ast.For, present: Any, body: Callable[[], Signal | None], env: Env) -> bool:
    """Whether a round that may not take place changes nothing but the loop's own variables.

    Such a round (a search that does not match) needs no merging of states. Any other is undone.
    """
    mark, before, parted = len(m.trail), m.pc, m.part()
    counts = [len(frame.pending) for frame in m.frames]
    noted = len(m.log)
    own = {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    m.pc = m.conditions.both(before, present)
    try:
        idle = body() is None
    except (Raised, Dead):
        idle = False
        del m.frames[len(counts) :]
    m.pc = before
    m.join(parted)
    idle = idle and all(slots is env.slots and key in own for slots, key, _old, _write in m.trail[mark:])
    if idle and counts == [len(frame.pending) for frame in m.frames]:
        return True
    m.undo(mark)
    del m.log[noted:]
    for frame, count in zip(m.frames, counts, strict=True):
        del frame.pending[count:]
    return False


def _loop(m: Machine, rounds: Callable[[], Signal | None]) -> Signal | None:
    def run() -> Signal | None:
        signal = rounds()
        if signal is not None and signal.kind == "break":
            return None
        if signal is not None:
            # a return: it leaves the loop's frame too, so it waits in the function's
            return signal
        return None

    result = m.run_frame("loop", run)
    return result if isinstance(result, Signal) else None


def _round(m: Machine, body: list[ast.stmt], env: Env) -> Signal | None:
    """One round; ``continue`` ends here."""
    signal = m.run_frame("iteration", lambda: m.exec_block(body, env))
    if isinstance(signal, Signal):
        return None if signal.kind == "continue" else signal
    return None


def while_stmt(m: Machine, node: ast.While, env: Env) -> Signal | None:
    def rounds() -> Signal | None:
        frame = m.frame_for(("loop",))
        for count in range(MOST_ROUNDS):
            if len(frame.pending) > MOST_UNDECIDED or (frame.pending and count > 8 * MOST_UNDECIDED):
                _forget(m, node.body, env, f"a loop at {m.file}:{node.lineno}")
                return None
            test = truth(m, m.eval(node.test, env))
            if test is False:
                return m.exec_block(node.orelse, env)
            if test is not True:
                done = m.conditions.negation(test)
                before = m.pc
                m.pc = m.conditions.both(before, done)
                frame.catch(Pending(m.pc, None, m.diff(frame.mark)))
                m.part()
                m.pc = m.conditions.both(before, test)
            signal = _round(m, node.body, env)
            if signal is not None:
                return signal
        m.give_up(f"a loop of more than {MOST_ROUNDS} rounds")
        return None

    return _loop(m, rounds)


def _unknown_loop(m: Machine, node: ast.For, env: Env, iterable: Any) -> Signal | None:
    """A loop over something unknown: its body may run; what it writes is unknown afterwards."""
    some = m.ask(f"{show(iterable)} is not empty", roots_of(m, iterable))
    element = Unknown(f"element of {show(iterable)}", roots_of(m, iterable))

    def body() -> Signal | None:
        m.assign(node.target, element, env, None)
        signal = _round(m, node.body, env)
        _forget(m, node.body, env, f"the loop over {show(iterable)}")
        if signal is not None and signal.kind == "return":
            m.leave(("function",), signal.value)
            raise Dead
        return None

    def rounds() -> Signal | None:
        signal = m.fork([(some, body), (m.conditions.negation(some), lambda: None)]) if some is not False else None
        return signal if isinstance(signal, Signal) else m.exec_block(node.orelse, env)

    return _loop(m, rounds)


def _forget(m: Machine, body: list[ast.stmt], env: Env, why: str) -> None:
    """Local names that a loop body assigns become unknown."""
    for statement in body:
        for item in ast.walk(statement):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store) and item.id in env.slots:
                m.assign(item, Unknown(f"{item.id} after {why}", frozenset()), env, None)


def return_stmt(m: Machine, node: ast.Return, env: Env) -> Signal:
    r0 = len(m.reads)
    value = None if node.value is None else m.eval(node.value, env)
    m.returns.append((r0, len(m.reads)))
    return Signal("return", value)


def raise_stmt(m: Machine, node: ast.Raise, env: Env) -> None:
    if node.exc is None:
        if m.handling:
            raise m.handling[-1]
        m.throw(RuntimeError, "No active exception to reraise")
    value = m.eval(node.exc, env)
    m.line = node.lineno
    value = m.lift(lambda leaf: leaf, value) if type(value) is Guarded else value
    if isinstance(value, (ClassV, type)):
        value = call(m, value, Args())
    if type(value) is Instance:
        raised = Raised(value, m.file, node.lineno)
        raised.ctrl = m.ctrl
        raise raised
    opaque = Instance(value if type(value) is External else External(show(value)))
    opaque.slots["args"] = (show(value),)
    raise Raised(opaque, m.file, node.lineno)


def assert_stmt(m: Machine, node: ast.Assert, env: Env) -> None:
    branch = weigh(m, node, env)
    test = branch.result
    if test is True:
        return
    m.branches.append(branch)

    def fail() -> None:
        m.ctrl = branch
        message = None if node.msg is None else m.eval(node.msg, env)
        m.line = node.lineno
        m.throw(AssertionError, *([] if node.msg is None else [message]))

    if test is False:
        fail()
    m.fork([(test, lambda: None), (m.conditions.negation(test), fail)])


def delete_stmt(m: Machine, node: ast.Delete, env: Env) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            m.store(env.slots, target.id, ABSENT)
        elif isinstance(target, ast.Attribute):
            obj = m.eval(target.value, env)
            if hasattr(obj, "slots"):
                m.store(obj.slots, target.attr, ABSENT)
        elif isinstance(target, ast.Subscript):
            obj = m.eval(target.value, env)
            if isinstance(target.slice, ast.Slice):
                m.set_slice(obj, m.eval(target.slice, env), ())
                continue
            key = m.eval(target.slice, env)
            m.delete_item(obj, key)


def function_def(m: Machine, node: Any, env: Env) -> None:
    r0 = len(m.reads)
    decorators = [m.eval(item, env) for item in node.decorator_list]
    defaults = tuple(m.eval(default, env) for default in node.args.defaults)
    kw_defaults = {
        arg.arg: m.eval(default, env)
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    if not m.postponed(env):
        evaluate_annotations(m, node, env)
    value: Any = FunctionV(node, node.name, env, env.module, m.file, defaults, kw_defaults)
    value.qualname = f"{env.cls.qualname}.{node.name}" if env.is_class and env.cls is not None else node.name
    if env.is_class:
        value.owner = env.cls
    for decorator in reversed(decorators):
        m.line = node.lineno
        value = decorate(m, decorator, value)
    m.line = node.lineno
    m.bind_name(node.name, value, env, m.written(r0))


def evaluate_annotations(m: Machine, node: Any, env: Env) -> None:
    """Evaluate a signature's annotations, as Python does at definition unless they are postponed."""
    spec = node.args
    for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if arg is not None and arg.annotation is not None:
            m.eval(arg.annotation, env)
    if node.returns is not None:
        m.eval(node.returns, env)


# ---------------------------------------------------------------- try
def catch(
    m: Machine,
    body: Callable[[], Any],
    matches: Callable[[Raised], Any],
    handler: Callable[[Raised], Any],
    otherwise: Callable[[], Any] | None = None,
    reraises: Callable[[Raised], bool] = lambda raised: False,
    stops: bool = True,
) -> Any:
    """Run ``body``; where it raises something that ``matches``, run ``handler`` instead.

    A handler that ``reraises`` is skipped where nothing further out would catch the exception:
    what it does to the state is then seen by nobody. Not ``stops``: every handler does.
    """
    mark, parted, before = len(m.trail), m.parted, m.pc
    frame = Frame("try", mark, stops)
    m.frames.append(frame)
    depth = len(m.frames)
    stack, file, call_depth = len(m.stack), m.file, m.depth
    alive = True
    value: Any = None
    try:
        value = body()
    except Raised as raised:
        frame.catch(Pending(m.pc, raised, m.diff(mark)))
        alive = False
    except Dead:
        alive = False
        if not frame.pending:
            raise
    finally:
        del m.frames[depth - 1 :]
        del m.stack[stack:]
        m.file, m.depth = file, call_depth
        m.join(parted)
    if m.frame_for(("try", "root")).kind == "root":
        root, stay = m.frame_for(("root",)), []
        for pending in frame.pending:
            if matches(pending.value) and not reraises(pending.value):
                stay.append(pending)
            else:
                root.pending.append(Pending(pending.test, pending.value, {}))
        if not stay and not alive:
            raise Dead
        if len(stay) < len(frame.pending):
            frame.pending = stay
    if not frame.pending:
        return value if otherwise is None or value is not None else otherwise()
    outcomes: list[tuple[Any, Callable[[], Any]]] = []
    normal = (m.pc, m.diff(mark)) if alive else None
    m.undo(mark)
    m.pc = before

    for pending in frame.pending:

        def run(pending: Pending = pending) -> Any:
            m.replay(pending.diff)
            raised: Raised = pending.value
            if matches(raised):
                m.handling.append(raised)
                try:
                    return handler(raised)
                finally:
                    m.handling.pop()
            raise raised

        outcomes.append((pending.test, run))
    if normal is not None:
        normal_test, normal_diff = normal

        def go_on() -> Any:
            m.replay(normal_diff)
            return value if otherwise is None or value is not None else otherwise()

        outcomes.append((normal_test, go_on))
    return m.fork(outcomes)


def _ends_in_raise(handler: ast.ExceptHandler | None) -> bool:
    """Whether a handler passes on what it caught."""
    if handler is None:
        return False
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def try_stmt(m: Machine, node: ast.Try, env: Env) -> Signal | None:
    def chosen(raised: Raised) -> ast.ExceptHandler | None:
        for item in node.handlers:
            if item.type is None or m.exception_matches(raised.exc, m.eval(item.type, env)):
                return item
        return None

    def handle(raised: Raised) -> Any:
        item = chosen(raised)
        assert item is not None
        if item.name:
            m.bind_name(item.name, raised.exc, env, None)
        return m.exec_block(item.body, env)

    def guarded() -> Any:
        if not node.handlers:
            signal = m.exec_block(node.body, env)
            return signal if signal is not None else m.exec_block(node.orelse, env)
        m.try_depth.append(node)
        try:
            return catch(
                m,
                lambda: m.exec_block(node.body, env),
                lambda raised: chosen(raised) is not None,
                handle,
                (lambda: m.exec_block(node.orelse, env)) if node.orelse else None,
                lambda raised: _ends_in_raise(chosen(raised)),
                not all(_ends_in_raise(handler) for handler in node.handlers),
            )
        finally:
            m.try_depth.pop()

    if node.finalbody:
        jumps = any(isinstance(part, _JUMPS) for item in node.finalbody for part in ast.walk(item))
        result = finally_(m, guarded, lambda: m.exec_block(node.finalbody, env), jumps)
    else:
        result = guarded()
    return result if isinstance(result, Signal) else None


_JUMPS = (ast.Return, ast.Break, ast.Continue)
_SIGNALS = {"function": "return", "loop": "break", "iteration": "continue"}


def finally_(m: Machine, body: Callable[[], Any], final: Callable[[], Any], stops: bool = True) -> Any:
    """Run ``body``, then ``final`` on every way out of it; not ``stops``: no exception can end there."""
    mark, parted, before = len(m.trail), m.parted, m.pc
    frame = Frame("finally", mark, stops)
    m.frames.append(frame)
    depth = len(m.frames)
    alive, value = True, None
    try:
        value = body()
    except Raised as raised:
        frame.catch(Pending(m.pc, (("try", "root"), raised), m.diff(mark)))
        alive = False
    except Dead:
        alive = False
        if not frame.pending:
            raise
    finally:
        del m.frames[depth - 1 :]
        m.join(parted)
    if not frame.pending:
        signal = final()
        return value if signal is None else signal
    ways: list[tuple[Any, Any, dict[Any, Any]]] = [(item.test, item.value, item.diff) for item in frame.pending]
    if alive:
        ways.append((m.pc, None, m.diff(mark)))
    m.undo(mark)
    m.pc = before

    def leave(way: Any, diff: dict[Any, Any]) -> Any:
        m.replay(diff)
        signal = final()
        if signal is not None:
            return signal
        if way is None:
            return value
        kinds, left = way
        if isinstance(left, Raised):
            raise left
        return Signal(_SIGNALS[kinds[0]], left)

    return m.fork([(test, partial(leave, way, diff)) for test, way, diff in ways])


def with_stmt(m: Machine, node: Any, env: Env) -> Signal | None:
    def enter(index: int) -> Signal | None:
        if index == len(node.items):
            return m.exec_block(node.body, env)
        item = node.items[index]
        manager = m.eval(item.context_expr, env)
        result: Signal | None = m.with_manager(manager, item.optional_vars, env, lambda: enter(index + 1))
        return result

    result = enter(0)
    return result if isinstance(result, Signal) else None


def with_manager(m: Machine, manager: Any, target: Any, env: Env, body: Callable[[], Any]) -> Any:
    """Run ``body`` inside a context manager: a ``@contextmanager`` function's call, or an object."""
    if type(manager) is Instance and manager.slots.get("*generator*") is not None:
        function, args = manager.slots["*generator*"]
        result: list[Any] = [None]

        def on_yield(value: Any) -> None:
            if target is not None:
                m.assign(target, value, env, None)
            signal = body()
            if signal is not None:
                result[0] = signal

        m.on_yield = (None, on_yield)
        call(m, function, args)
        return result[0]
    value: Any = Unknown(f"{show(manager)}.__enter__()", roots_of(m, manager))
    if type(manager) is Instance:
        value = call(m, get_attr(m, manager, "__enter__"), Args())
    elif type(manager) is Native:
        value = manager
    if target is not None:
        m.assign(target, value, env, None)
    if type(manager) is Instance and isinstance(manager.cls, ClassV):
        return _managed(m, manager, body)
    suppressed = m.suppresses(manager)
    if suppressed:
        result_ = catch(
            m,
            body,
            lambda raised: any(m.exception_matches(raised.exc, kind) for kind in suppressed),
            lambda _raised: None,
        )
    else:
        result_ = body()
    return result_


def _managed(m: Machine, manager: Instance, body: Callable[[], Any]) -> Any:
    """``__exit__`` of the tree's own context manager, on every way out; it may swallow an exception."""
    left = Slots({"done": False})
    leave = get_attr(m, manager, "__exit__")

    def handle(raised: Raised) -> Any:
        m.store(left, "done", True)
        swallowed = truth(m, call(m, leave, Args([raised.exc.cls, raised.exc, None])))

        def pass_on() -> Any:
            raise raised

        return m.fork([(swallowed, lambda: None), (m.conditions.negation(swallowed), pass_on)])

    def final() -> None:
        done = truth(m, left["done"])
        m.fork(
            [
                (done, lambda: None),
                (m.conditions.negation(done), lambda: call(m, leave, Args([None, None, None])) and None),
            ]
        )

    return finally_(m, lambda: catch(m, body, lambda _raised: True, handle), final)


def match_stmt(m: Machine, node: ast.Match, env: Env) -> Signal | None:
    subject = m.eval(node.subject, env)

    def attempt(index: int) -> Signal | None:
        if index == len(node.cases):
            return None
        case = node.cases[index]
        test = m.match_pattern(case.pattern, subject, env)
        if case.guard is not None and test is not False:
            test = m.conditions.both(test, truth(m, m.eval(case.guard, env)))
        if test is True:
            return m.exec_block(case.body, env)
        if test is False:
            return attempt(index + 1)
        result: Signal | None = m.fork(
            [(test, lambda: m.exec_block(case.body, env)), (m.conditions.negation(test), lambda: attempt(index + 1))]
        )
        return result

    return attempt(0)


def nothing(m: Machine, node: Any, env: Env) -> None:
    return None


def break_stmt(m: Machine, node: ast.Break, env: Env) -> Signal:
    return Signal("break")


def continue_stmt(m: Machine, node: ast.Continue, env: Env) -> Signal:
    return Signal("continue")


STATEMENTS: dict[type, Callable[[Any, Any, Env], Signal | None]] = {
    ast.Expr: expr,
    ast.Assign: assign,
    ast.AnnAssign: ann_assign,
    ast.AugAssign: aug_assign,
    ast.If: if_stmt,
    ast.For: for_stmt,
    ast.AsyncFor: for_stmt,
    ast.While: while_stmt,
    ast.Return: return_stmt,
    ast.Raise: raise_stmt,
    ast.Assert: assert_stmt,
    ast.Delete: delete_stmt,
    ast.FunctionDef: function_def,
    ast.AsyncFunctionDef: function_def,
    ast.ClassDef: class_def,
    ast.Try: try_stmt,
    ast.With: with_stmt,
    ast.AsyncWith: with_stmt,
    ast.Match: match_stmt,
    ast.Import: import_name,
    ast.ImportFrom: import_from,
    ast.Pass: nothing,
    ast.Global: nothing,
    ast.Nonlocal: nothing,
    ast.Break: break_stmt,
    ast.Continue: continue_stmt,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    STATEMENTS[ast.TryStar] = try_stmt

__all__ = ["STATEMENTS", "BoundV", "catch", "set_attr", "with_manager"]
