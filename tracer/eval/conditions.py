"""Conditions and guarded values as multi-terminal decision diagrams.

A condition is ``True``, ``False`` or a :class:`Guarded` whose terminals are booleans. A guarded value
is the same diagram with any terminals: ``overlap -> EAGLEWorkerV2, otherwise EAGLEWorker``. Diagrams
are ordered by atom and hash-consed, so equal conditions are the same object, a condition tested twice
decides itself the second time, and merging two states costs one ``ite`` per changed variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_KEPT = 200_000  # results of one operation that are remembered, and nodes that a new evaluation takes over
_SCALARS = frozenset({bool, int, float, str, bytes, type(None)})


class Atom:
    """One undecided question: its text as the tree writes it, and the facts it waits for."""

    __slots__ = ("file", "index", "line", "roots", "text")

    def __init__(self, index: int, text: str, roots: frozenset[str], file: str, line: int) -> None:
        self.index = index
        self.text = text
        self.roots = roots
        self.file = file
        self.line = line


class Guarded:
    """A diagram node: ``hi`` where the atom holds, ``lo`` where it does not."""

    __slots__ = ("atom", "hi", "lo", "width")

    def __init__(self, atom: Atom, hi: Any, lo: Any) -> None:
        self.atom = atom
        self.hi = hi
        self.lo = lo
        self.width = 0  # not counted yet


def breadth(test: Any) -> int:
    """How many atoms a condition depends on."""
    if type(test) is not Guarded:
        return 0
    width: int = test.width
    if not width:
        width = test.width = len(Conditions.support(test))
    return width


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is Guarded or kind is bool:  # nearly all: nodes are unique, and there is one True
        return id(value)
    if kind in _SCALARS:
        return (kind, value)
    if kind is tuple:
        return (tuple, tuple(_key(item) for item in value))
    return id(value)


class Conditions:
    """The diagrams of one evaluation: atoms by key, unique nodes, memoised operations."""

    def __init__(self) -> None:
        self.atoms: dict[str, Atom] = {}
        self._nodes: dict[Any, Guarded] = {}
        self._base = 0
        self._ite: dict[Any, Any] = {}
        self._restrict: dict[Any, Any] = {}
        self._cases: dict[int, tuple[Any, list[tuple[Any, Any]]]] = {}
        self._terminals: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._where: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self._named: dict[int, tuple[Any, Any]] = {}
        self._names = 0

    def name(self, test: Any, file: str, line: int) -> Any:
        """A condition on many atoms as one new atom.

        This keeps diagrams small. It forgets how the new atom hangs together with the old ones,
        which can only make an answer less decided, never wrong.
        """
        found = self._named.get(id(test))
        if found is not None:
            return found[1]
        other = self.negation(test)
        found = self._named.get(id(other))
        if found is not None:
            return self.negation(found[1])
        roots = frozenset(root for atom in self.support(test).values() for root in atom.roots)
        self._names += 1
        atom = self.atom(f"#{self._names}", f"what {file}:{line} hangs on", roots, file, line)
        self._named[id(test)] = (test, atom)
        return atom

    def size(self) -> int:
        """How many diagram nodes there are since the last :meth:`restart`."""
        return len(self._nodes) - self._base

    def restart(self) -> None:
        """Begin another evaluation. Too many nodes of earlier ones are given up.

        A node that is still in use then has equals that are other objects: a diagram may be larger
        than it need be, and means the same.
        """
        if len(self._nodes) > MOST_KEPT:
            for table in (self._nodes, self._ite, self._restrict, self._cases, self._terminals, self._where):
                table.clear()
            self._named.clear()
        self._base = len(self._nodes)

    def atom(self, key: str, text: str, roots: frozenset[str], file: str = "", line: int = 0) -> Guarded:
        """The condition "``key`` holds"; the same key gives the same condition."""
        found = self.atoms.get(key)
        if found is None:
            found = self.atoms[key] = Atom(len(self.atoms), text, roots, file, line)
        node: Guarded = self._node(found, True, False)
        return node

    def _node(self, atom: Atom, hi: Any, lo: Any) -> Any:
        hi_key, lo_key = _key(hi), _key(lo)
        if hi_key == lo_key:
            return hi
        key = (atom.index, hi_key, lo_key)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = Guarded(atom, hi, lo)
        return node

    def ite(self, test: Any, then: Any, other: Any) -> Any:
        """``then`` where ``test`` holds, ``other`` elsewhere."""
        if test is True:
            return then
        if test is False:
            return other
        if then is other:
            return then
        if then is True and other is False:
            return test
        then_key, other_key = _key(then), _key(other)
        if then_key == other_key:
            return then
        key = (id(test), then_key, other_key)
        found = self._ite.get(key)
        if found is not None:
            return found[0]
        top: Atom = test.atom
        then_splits, other_splits = type(then) is Guarded, type(other) is Guarded
        if then_splits and then.atom.index < top.index:
            top = then.atom
        if other_splits and other.atom.index < top.index:
            top = other.atom
        hi = lo = test
        then_hi = then_lo = then
        other_hi = other_lo = other
        if test.atom is top:
            hi, lo = test.hi, test.lo
        if then_splits and then.atom is top:
            then_hi, then_lo = then.hi, then.lo
        if other_splits and other.atom is top:
            other_hi, other_lo = other.hi, other.lo
        if_hi = then_hi if hi is True else other_hi if hi is False else self.ite(hi, then_hi, other_hi)
        if_lo = then_lo if lo is True else other_lo if lo is False else self.ite(lo, then_lo, other_lo)
        result = self._node(top, if_hi, if_lo)
        if len(self._ite) >= MOST_KEPT:
            self._ite.clear()
        self._ite[key] = (result, test, then, other)  # the operands stay alive: ids are keys
        return result

    def negation(self, test: Any) -> Any:
        """Where ``test`` does not hold."""
        return self.ite(test, False, True)

    def both(self, left: Any, right: Any) -> Any:
        """Where both hold."""
        return self.ite(left, right, False)

    def either(self, left: Any, right: Any) -> Any:
        """Where one holds or both."""
        return self.ite(left, True, right)

    def implies(self, care: Any, test: Any) -> bool:
        """Whether ``test`` holds wherever ``care`` does."""
        return self.both(care, self.negation(test)) is False

    def restrict(self, value: Any, care: Any) -> Any:
        """A simpler value that equals ``value`` wherever ``care`` holds (Coudert and Madre's restrict)."""
        if type(value) is not Guarded or type(care) is not Guarded:
            return value
        key = (id(value), id(care))
        found = self._restrict.get(key)
        if found is not None:
            return found[0]
        if care.atom.index < value.atom.index:
            result = self.restrict(value, self.either(care.hi, care.lo))
        elif value.atom.index < care.atom.index:
            result = self._node(value.atom, self.restrict(value.hi, care), self.restrict(value.lo, care))
        elif care.hi is False:
            result = self.restrict(value.lo, care.lo)
        elif care.lo is False:
            result = self.restrict(value.hi, care.hi)
        else:
            result = self._node(value.atom, self.restrict(value.hi, care.hi), self.restrict(value.lo, care.lo))
        if len(self._restrict) >= MOST_KEPT:
            self._restrict.clear()
        self._restrict[key] = (result, value, care)
        return result

    def terminals(self, value: Any) -> tuple[Any, ...]:
        """The distinct terminals of a value."""
        if type(value) is not Guarded:
            return (value,)
        kept = self._terminals.get(id(value))
        if kept is not None:
            return kept[1]
        found: dict[Any, Any] = {}
        seen: set[int] = set()
        stack: list[Any] = [value]
        while stack:
            node = stack.pop()
            if type(node) is not Guarded:
                found.setdefault(_key(node), node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack += (node.lo, node.hi)
        result = tuple(found.values())
        self._terminals[id(value)] = (value, result)
        return result

    def where(self, value: Any, terminal: Any) -> Any:
        """The condition under which a value is this very terminal."""
        if type(value) is not Guarded:
            return value is terminal
        key = (id(value), id(terminal))
        kept = self._where.get(key)
        if kept is not None:
            return kept[0]
        result = self._node(value.atom, self.where(value.hi, terminal), self.where(value.lo, terminal))
        if len(self._where) >= MOST_KEPT:
            self._where.clear()
        self._where[key] = (result, value, terminal)
        return result

    def cases(self, value: Any) -> list[tuple[Any, Any]]:
        """``(condition, terminal)`` for each distinct terminal; the conditions exclude each other."""
        if type(value) is not Guarded:
            return [(True, value)]
        kept = self._cases.get(id(value))
        if kept is not None:
            return kept[1]
        found: dict[Any, list[Any]] = {}
        memo: dict[int, dict[Any, Any]] = {}

        def walk(node: Any) -> dict[Any, Any]:
            if type(node) is not Guarded:
                key = _key(node)
                found.setdefault(key, [node])
                return {key: True}
            known = memo.get(id(node))
            if known is None:
                hi, lo = walk(node.hi), walk(node.lo)
                known = memo[id(node)] = {
                    key: self._node(node.atom, hi.get(key, False), lo.get(key, False)) for key in {**hi, **lo}
                }
            return known

        conditions = walk(value)
        result = [(conditions[key], terminal[0]) for key, terminal in found.items()]
        self._cases[id(value)] = (value, result)
        return result

    def cubes(self, test: Any, most: int = 4) -> Iterator[tuple[tuple[Atom, bool], ...]]:
        """Conjunctions of atoms under which ``test`` holds, at most ``most`` of them."""
        left = most

        def walk(node: Any, path: tuple[tuple[Atom, bool], ...]) -> Iterator[tuple[tuple[Atom, bool], ...]]:
            nonlocal left
            if left <= 0 or node is False:
                return
            if node is True:
                left -= 1
                yield path
                return
            yield from walk(node.hi, (*path, (node.atom, True)))
            yield from walk(node.lo, (*path, (node.atom, False)))

        yield from walk(test, ())

    @staticmethod
    def support(value: Any) -> dict[int, Atom]:
        """The atoms that a diagram depends on, by index."""
        found: dict[int, Atom] = {}
        seen: set[int] = set()
        stack = [value]
        while stack:
            node = stack.pop()
            if type(node) is Guarded and id(node) not in seen:
                seen.add(id(node))
                found[node.atom.index] = node.atom
                stack += (node.hi, node.lo)
        return found
