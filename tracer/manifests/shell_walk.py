"""Goes over the statements of a script in the order in which they run, and over both sides of a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from tree_sitter import Node

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.open_text import is_open, opened
from pathtrace.tracer.launch.surroundings import Surroundings
from pathtrace.tracer.manifests.shell_arithmetic import SET_IN_ARITHMETIC, worked_out
from pathtrace.tracer.manifests.shell_branches import run_case, run_if
from pathtrace.tracer.manifests.shell_conditions import Decision, decide_double, decide_words
from pathtrace.tracer.manifests.shell_expand import Expander
from pathtrace.tracer.manifests.shell_loops import run_counted_for, run_for, run_while
from pathtrace.tracer.manifests.shell_run import run_command
from pathtrace.tracer.manifests.shell_search import Search
from pathtrace.tracer.manifests.shell_source import Source, parse
from pathtrace.tracer.manifests.shell_state import Change, Field, Function, State, Variable, joined
from pathtrace.tracer.manifests.shell_variables import run_declaration, set_variable
from pathtrace.tracer.manifests.shell_words import read_quoted, split_words

# "assumed": a command that is taken to succeed where another follows with `&&`.
Outcome = Literal["yes", "no", "unknown", "assumed"]
_MOST_NESTED = 200
_DEPTH_OF_CALL = 2
Run = tuple[Sequence[Node], str]


class Walker:
    """One shell.

    Args:
        search: what is found in the file.
        source: the text that it runs.
        state: the variables that it starts with.
        base: the surroundings in which it was started.
    """

    def __init__(self, search: Search, source: Source, state: State, base: Surroundings) -> None:
        self.search = search
        self.state = state
        self.base = base
        self.expander = Expander(state, search.budget, source)
        self.depth = 0
        self.shells = 0
        self.conditions: list[str] = []
        self.notes: tuple[str, ...] = ()
        self.names: list[str] = []
        self.locals: list[dict[str, Variable | None]] = []
        self.left: list[set[str]] = []
        self.ended: Literal["", "exit", "return", "break", "continue"] = ""
        self.dry = False
        self.handlers: dict[str, Callable[[Node], Outcome]] = {
            "command": self._command,
            "redirected_statement": self._redirected,
            "variable_assignment": self._assignment,
            "variable_assignments": self._assignment,
            "declaration_command": self._declaration,
            "unset_command": self._declaration,
            "test_command": self._test,
            "negated_command": self._negated,
            "list": self._list,
            "pipeline": self._pipeline,
            "subshell": self._subshell,
            "compound_statement": self._group,
            "if_statement": partial(run_if, self),
            "case_statement": partial(run_case, self),
            "for_statement": partial(run_for, self),
            "c_style_for_statement": partial(run_counted_for, self),
            "while_statement": partial(run_while, self),
            "function_definition": self._function,
            "do_group": self._group,
        }

    @property
    def source(self) -> Source:
        """The text that runs now."""
        return self.expander.source

    def read(self, source: Source) -> None:
        """Run a text in this shell.

        Raises:
            BadInput: text that is no shell.
        """
        before, here = self.expander.source, self.expander.here
        self.expander.source = source
        self.block(parse(source).children)
        self.expander.source, self.expander.here = before, here

    def block(self, nodes: Sequence[Node]) -> Outcome:
        """Run statements one after the other."""
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise BadInput(
                f"nests over {_MOST_NESTED} deep; give the part of it that starts the server", self.source.file
            )
        outcome: Outcome = "yes"
        last = len(nodes) - 1
        for index, node in enumerate(nodes):
            handler = self.handlers.get(node.type)
            if handler is None:
                continue
            if self.left or self.shells:
                self.search.budget.step()
            if index < last and nodes[index + 1].type == "&":
                self.state.begin()
                handler(node)
                self._back_from_subshell()
                outcome = "yes"
                continue
            outcome = handler(node)
            if self.ended:
                break
        self.depth -= 1
        return outcome

    def either(self, runs: Sequence[Run], line: int) -> None:
        """Run each of several blocks from the same state, of which one runs in truth."""
        if len(runs) == 1:
            self.block(runs[0][0])
            return
        after: list[Change] = []
        ends = []
        for nodes, condition in runs:
            self.state.begin()
            self.conditions += [condition] if condition else []
            self.block(nodes)
            self.conditions = self.conditions[:-1] if condition else self.conditions
            after.append(self.state.take_back())
            ends.append(self.ended)
            self.ended = ""
        for change, end in zip(after, ends, strict=True):
            if end not in ("", "exit"):
                for left in self.left:
                    left.update(name for name in change if name.isidentifier())
        staying = [change for change, end in zip(after, ends, strict=True) if not end]
        if not staying:
            self.ended = next((end for end in ends if end != "exit"), "exit")
            staying = [change for change, end in zip(after, ends, strict=True) if end == self.ended]
        self.state.merge(staying, f"what it is depends on a condition of line {line} that nothing in the file decides")

    def call(self, functions: Sequence[Function | None], arguments: Sequence[Field], line: int) -> None:
        """Call a function, or each that its name may stand for."""
        after: list[Change] = []
        for function in functions:
            self.state.begin()
            if function is not None:
                self._call_one(function, arguments)
            after.append(self.state.take_back())
        self.state.merge(after, f"line {line} calls one of several functions of that name")

    def _call_one(self, function: Function, arguments: Sequence[Field]) -> None:
        if function.name in self.names:
            self.state.source()
            self.notes = joined(self.notes, (f"{function.name} calls itself, which is not followed",))
            return
        before, source, here = self.state.arguments, self.expander.source, self.expander.here
        self.state.arguments = tuple(arguments)
        self.expander.source = function.source
        self.names.append(function.name)
        self.locals.append({})
        self.begin_frame()
        # A call takes more of Python's stack than a block does.
        self.depth += _DEPTH_OF_CALL
        self.block([function.body])
        self.depth -= _DEPTH_OF_CALL
        self.end_frame(f"{function.name} may return early")
        for name, variable in self.locals.pop().items():
            self.state.put(name, variable)
        self.names.pop()
        self.expander.source, self.expander.here = source, here
        self.state.arguments = before
        self.ended = "" if self.ended == "return" else self.ended

    def local(self, name: str) -> None:
        """Make a variable local to the function that runs."""
        if self.locals:
            self.locals[-1].setdefault(name, self.state.variable(name))

    def shown(self, nodes: Sequence[Node]) -> str:
        """Statements as a condition is quoted."""
        statements = [node for node in nodes if node.type in self.handlers]
        if not statements:
            return "`:`"
        text = self.source.written(self.source.text(statements[0].start_byte, statements[-1].end_byte))
        text = " ".join(text.split())
        return f"`{text if len(text) <= 70 else text[:67] + '...'}`"

    def line(self, node: Node) -> int:
        """The line of the file on which a node starts."""
        return self.source.line(node.start_byte)

    def take_decision(self, decision: Decision) -> Outcome:
        """Go by a test; what was taken for granted in it holds for everything after it."""
        if decision.holds is None:
            return "unknown"
        self.notes = joined(self.notes, decision.notes)
        return "yes" if decision.holds else "no"

    def begin_frame(self) -> None:
        """Start a function or a loop, which may end early."""
        self.left.append(set())
        self.state.begin()

    def end_frame(self, cause: str) -> None:
        """End it; what a branch that left it early has changed is not known."""
        left = self.left.pop()
        if left:
            self.state.open_up(left | self.state.changed(), cause)
        self.state.keep()

    def _back_from_subshell(self) -> None:
        self.state.take_back()
        self.ended = ""

    def _command(self, node: Node) -> Outcome:
        self._substitutions(node)
        return run_command(self, node, [])

    def _redirected(self, node: Node) -> Outcome:
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        if body is None:
            return "yes"
        if body.type == "command":
            self._substitutions(body)
            return run_command(self, body, redirects)
        outcome = self.block([body])
        for redirect in redirects:
            # `{ ...; } <<EOF && more`
            self.block([child for child in redirect.children if child.type in ("command", "list")])
        return outcome

    def _assignment(self, node: Node) -> Outcome:
        self._substitutions(node)
        for each in node.children if node.type == "variable_assignments" else [node]:
            if each.type == "variable_assignment":
                set_variable(self, each)
        return "yes"

    def _declaration(self, node: Node) -> Outcome:
        self._substitutions(node)
        run_declaration(self, node)
        return "yes"

    def _substitutions(self, node: Node) -> None:
        """Run what stands in ``$(...)``: it starts a server too, in a shell of its own."""
        text = self.source.data[node.start_byte : node.end_byte]
        if b"$(" not in text and b"`" not in text and b"<(" not in text and b">(" not in text:
            return
        waiting = list(reversed(node.children))
        while waiting:
            each = waiting.pop()
            if each.type in ("command_substitution", "process_substitution"):
                self.state.begin()
                self.block(each.children)
                self._back_from_subshell()
            elif each.child_count and each.type not in ("heredoc_redirect",):
                waiting += reversed(each.children)

    def _test(self, node: Node) -> Outcome:
        text = self.source.of(node)
        if text.startswith("[["):
            return self.take_decision(decide_double(text[2:-2], self.expander))
        if text.startswith("(("):
            return self._arithmetic(text[2:-2])
        fields = [field for word, _ in split_words(text[1:-1]) for field in self.expander.fields(word, node.start_byte)]
        return self.take_decision(decide_words(fields, self.expander))

    def _arithmetic(self, text: str) -> Outcome:
        names = [first or second for first, second in SET_IN_ARITHMETIC.findall(text)]
        if names:
            for name in names:
                self.state.assign(name, Variable(opened(f"${name}"), cause="it is counted as the script runs"))
            return "unknown"
        answer = self.expander.value_of(read_quoted(text))
        value = None if is_open(answer.as_text()) else worked_out(answer.as_text(), self.expander.plain)
        return self.take_decision(Decision(None if value is None else value != 0, answer.notes))

    def _negated(self, node: Node) -> Outcome:
        outcome = self.block(node.children[1:])
        if outcome in ("yes", "no"):
            return "no" if outcome == "yes" else "yes"
        return "unknown"

    def _list(self, node: Node) -> Outcome:
        parts: list[Node] = []
        while node.type == "list":
            children = node.children
            parts += reversed(children[1:])
            node = children[0]
        parts.append(node)
        parts.reverse()
        outcome = self.block(parts[:1])
        operator, before = "", parts[0]
        for part in parts[1:]:
            if self.ended:
                break
            if part.type in ("&&", "||"):
                operator = part.type
            elif part.type in self.handlers:
                outcome = self.follow(outcome, operator, [part], [before])
                before = part
        return outcome

    def follow(self, outcome: Outcome, operator: str, nodes: Sequence[Node], before: Sequence[Node]) -> Outcome:
        """Run what stands behind ``&&`` or ``||``."""
        on_success = operator == "&&"
        if outcome == ("no" if on_success else "yes"):
            return outcome
        if outcome == ("yes" if on_success else "no") or (on_success and outcome == "assumed"):
            return self.block(nodes)
        condition = f"{self.shown(before)} {'succeeds' if on_success else 'fails'}"
        self.either([(nodes, condition), ((), "")], self.line(nodes[0]))
        if outcome == "assumed":
            return "assumed"
        return "unknown"

    def _pipeline(self, node: Node) -> Outcome:
        stages: list[Node] = []
        waiting = [child for child in reversed(node.children) if child.type in self.handlers]
        while waiting:
            each = waiting.pop()
            if each.type == "pipeline":
                waiting += [child for child in reversed(each.children) if child.type in self.handlers]
            else:
                stages.append(each)
        outcome: Outcome = "yes"
        for stage in stages:
            self.state.begin()
            outcome = self.block([stage])
            self._back_from_subshell()
        return "assumed" if outcome == "assumed" else "unknown" if len(stages) > 1 else outcome

    def _subshell(self, node: Node) -> Outcome:
        self.state.begin()
        outcome = self.block(node.children)
        self._back_from_subshell()
        return outcome

    def _group(self, node: Node) -> Outcome:
        text = self.source.data[node.start_byte : node.start_byte + 2]
        if text == b"((":
            return self._arithmetic(self.source.of(node)[2:-2])
        return self.block(node.children)

    def _function(self, node: Node) -> Outcome:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.state.define(Function(self.source.of(name), body, self.source))
        return "yes"
