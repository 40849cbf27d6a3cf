"""A launch: what a person would type to start the server, taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outside = Literal["kept", "given", "none"]


@dataclass(frozen=True)
class Unseen:
    """Variables that something sets which is not read: any variable may be among them.

    Attributes:
        sources: what sets them, as a person names it: ``the ConfigMap serving-env``.
        replaces: whether they win over what the launch sets itself.
    """

    sources: tuple[str, ...]
    replaces: bool = False


@dataclass(frozen=True)
class Launch:
    """One launch of an SGLang server.

    Attributes:
        entry: ``launch_server`` (``python -m sglang.launch_server``), ``serve`` (``sglang serve``),
            ``engine`` (``Engine(...)`` keyword arguments), ``server_args`` (a ``ServerArgs(...)``
            line from a log: values are already resolved) or ``bare`` (flags only).
        argv: the words after the program, as argparse would get them; empty for ``engine`` and
            ``server_args``.
        kwargs: keyword arguments for ``engine`` and ``server_args``; a value that is not a literal
            is left out and named in ``unparsed``.
        env: variables set by the launch itself (``K=V`` prefixes, ``export``, ``env K=V``).
        unset: variables that the launch removes (``env -u K``, ``unset K``).
        unparsed: parts that could not be read as literals, as written.
        open_kwargs: those of them that are arguments of ``engine`` and ``server_args``; ``...`` where the
            line leaves some out.
        outside: which variables from outside of the launch reach the server: ``kept`` (all),
            ``given`` (``--env`` and ``--env-file`` but not the caller's own environment: a
            container, plain ``sudo``) or ``none`` (``env -i``).
        forwarded: with ``given``, names that the launch takes over from the caller's environment
            nevertheless (``docker run -e K``).
        unexported: shell variables that the launch sets without exporting them (``K=V;``). The
            server sees them only if the same name is in its environment already.
        unseen: what may set further variables, and is not read; None where nothing does.
    """

    entry: Literal["launch_server", "serve", "engine", "server_args", "bare"]
    argv: tuple[str, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()
    unparsed: tuple[str, ...] = ()
    open_kwargs: tuple[str, ...] = ()
    outside: Outside = "kept"
    forwarded: frozenset[str] = frozenset()
    unexported: Mapping[str, str] = field(default_factory=dict)
    unseen: Unseen | None = None
