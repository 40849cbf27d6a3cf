"""Carries pathtrace into this process when PATHTRACE_ENABLE is 1, then runs the user's own sitecustomize."""

import os
import sys


def _load_pathtrace() -> None:
    """The package that this file belongs to, found by its place: no folder joins sys.path for it."""
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    where = os.path.join(package, "__init__.py")
    spec = spec_from_file_location("pathtrace", where, submodule_search_locations=[package])
    if spec is None or spec.loader is None:
        raise ImportError("there is no Python package at " + package)
    module = sys.modules["pathtrace"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["pathtrace"]
        raise


def _start() -> None:
    # Whatever goes wrong in here, the server starts and the user's own sitecustomize runs.
    try:
        if "pathtrace" not in sys.modules:
            _load_pathtrace()
        from pathtrace.instrument import start

        start("sitecustomize")
    except Exception as problem:
        import contextlib
        import json

        reason = " ".join(f"the hook could not start: {type(problem).__name__}: {problem}".split())[:500]
        fields = {"v": 1, "pid": os.getpid(), "run": os.environ.get("PATHTRACE_RUN") or None, "reason": reason}
        data = json.dumps(fields, separators=(",", ":"))
        with contextlib.suppress(OSError):
            os.write(2, ("pathtrace: failed " + reason + " " + data + "\n").encode())


def _chain() -> None:
    """Runs the next sitecustomize on sys.path, as if this one were not there."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    # Kept for the process: another tool's sitecustomize may come back to this one and must not start a circle.
    done = sys.__dict__.setdefault("_pathtrace_chained", set())
    done.add(os.path.realpath(__file__))
    for entry in list(sys.path):
        spec = PathFinder.find_spec("sitecustomize", [entry])
        if spec is None or spec.loader is None:
            continue
        place = os.path.realpath(spec.origin or entry)
        if place not in done:
            done.add(place)
            module = sys.modules["sitecustomize"] = module_from_spec(spec)
            spec.loader.exec_module(module)  # what it raises is the interpreter's to report, as ever
            return


if os.environ.get("PATHTRACE_ENABLE") == "1":
    _start()
try:
    _chain()
finally:
    sys.__dict__["_pathtrace_site"] = True
