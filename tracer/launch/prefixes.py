"""Programs that only start another one: ``env``, ``nohup``, ``numactl``, ``sudo``, ..."""

from __future__ import annotations

from dataclasses import dataclass

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.containers import CLUSTERS, ENGINES, enter_container
from pathtrace.tracer.launch.program import SCAN_LIMIT, basename, scan
from pathtrace.tracer.launch.surroundings import Surroundings


@dataclass(frozen=True)
class Prefix:
    """How a prefix reads its own words.

    ``flags`` and ``valued`` are its short options without and with a value, one letter each;
    ``long_valued`` its long options whose value may be the next word, ``long_flags`` those without;
    ``positionals`` the words of its own before the command.
    """

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    positionals: int = 0


def _longs(names: str) -> frozenset[str]:
    return frozenset("--" + name for name in names.split())


PREFIXES = {
    "nohup": Prefix(),
    "setsid": Prefix("cfw", long_flags=_longs("ctty fork wait")),
    "exec": Prefix("cl", "a"),
    "command": Prefix("p"),
    "time": Prefix("pvaqV", "fo", _longs("portability verbose append quiet"), _longs("format output")),
    "nice": Prefix("", "n", long_valued=_longs("adjustment")),
    "ionice": Prefix("t", "cn", _longs("ignore"), _longs("class classdata")),
    "chrt": Prefix("rfobidRav", "TPD", _longs("rr fifo other batch idle all-tasks"), positionals=1),
    "taskset": Prefix("ac", "", _longs("all-tasks cpu-list"), positionals=1),
    "stdbuf": Prefix("", "ioe", long_valued=_longs("input output error")),
    "timeout": Prefix("v", "sk", _longs("foreground preserve-status verbose"), _longs("signal kill-after"), 1),
    "numactl": Prefix(
        "alb",
        "NmiCpPw",
        _longs("all localalloc balancing"),
        _longs("cpunodebind membind interleave physcpubind preferred preferred-many cpubind weighted-interleave"),
    ),
    "sudo": Prefix(
        "EHnSbPkABi",
        "ugCcDhpRrTtU",
        _longs("preserve-env set-home non-interactive stdin background preserve-groups login"),
        _longs("user group chdir host prompt role type chroot close-from"),
    ),
    "env": Prefix("iv0", "uC", _longs("ignore-environment debug null"), _longs("unset chdir split-string")),
}
# Their options are too many to list; the server is looked for behind them.
RUNNERS = frozenset(
    """
    nsys ncu rocprof rocprofv3 compute-sanitizer py-spy perf strace gdb valgrind unbuffer tini
    dumb-init uv poetry pipenv pdm hatch pixi conda mamba micromamba srun memray coverage viztracer
    scalene
    """.split()  # noqa: SIM905
)
_SETS_VARIABLES = {
    "nsys": ("-e", "--env-var"),
    "srun": ("--export", "--export-file"),
    "strace": ("-E", "--env"),
    "uv": ("--env-file",),
}
SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash"])


def strip_prefixes(words: list[str], around: Surroundings) -> list[str]:
    """Take off what stands in front of the program, applying its effect on the environment.

    Returns:
        The words from the program on.

    Raises:
        BadInput: an option that is not known to take a value or not, or one that sets variables in
            a way that is not read.
    """
    while words:
        name = basename(words[0])
        if name in ENGINES or name in CLUSTERS:
            words = enter_container(words, around)
        elif name in RUNNERS:
            inner = _behind_runner(name, words)
            if inner is words:
                break
            words = inner
        elif name == "pathtrace" and words[1:2] == ["run"] and "--" in words:
            words = around.take_settings(words[words.index("--") + 1 :])
        elif name in PREFIXES:
            options, words = _take_options(name, PREFIXES[name], words[1:])
            words = _apply(name, options, words, around)
        else:
            break
    return words


def _apply(name: str, options: list[tuple[str, str]], words: list[str], around: Surroundings) -> list[str]:
    if name == "env":
        for option, value in options:
            if option in ("-i", "--ignore-environment"):
                around.isolate("none")
            elif option in ("-u", "--unset"):
                around.drop(value)
            elif option == "--split-string":
                raise BadInput("`env --split-string` is not read; write its words one by one")
        return around.take_settings(words)
    if name == "sudo":
        _sudo(options, around)
        return around.take_settings(words)
    if name == "exec" and any(option == "-c" for option, _ in options):
        around.isolate("none")
    return words[PREFIXES[name].positionals :]


def _sudo(options: list[tuple[str, str]], around: Surroundings) -> None:
    names = {option for option, _ in options}
    if "-E" in names or ("--preserve-env", "") in options:
        return
    kept = [name for o, v in options if o == "--preserve-env" for name in v.split(",")]
    lost = sorted(around.env.keys() - set(kept))
    if lost:
        raise BadInput(
            f"plain sudo drops variables set in front of it ({', '.join(lost)[:200]}) unless its "
            "configuration keeps them; write `sudo -E` or `sudo NAME=value`"
        )
    around.restrict(kept)


def _take_options(name: str, prefix: Prefix, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    options: list[tuple[str, str]] = []
    index = 0
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        index += 1
        if word == "--":
            break
        if word == "-" and name == "env":
            options.append(("-i", ""))
            continue
        if name == "nice" and word[1:].lstrip("-").isdecimal():
            continue
        known = _long(word, prefix) if word.startswith("--") else _short(word, prefix)
        if known is None:
            # Flags right behind a prefix: `env --model-path x` has no program of its own.
            raise BadInput(f"option {word[:80]} of {name} is not known; leave {name} and its options out of the launch")
        found, wants_value = known
        if wants_value:
            value = words[index] if index < len(words) else ""
            index += 1
            found = [*found[:-1], (found[-1][0], value)]
        options += found
    return options, words[index:]


def _long(word: str, prefix: Prefix) -> tuple[list[tuple[str, str]], bool] | None:
    option, equals, value = word.partition("=")
    if option in prefix.long_valued:
        return [(option, value)], not equals
    return ([(option, value)], False) if option in prefix.long_flags else None


def _short(word: str, prefix: Prefix) -> tuple[list[tuple[str, str]], bool] | None:
    found: list[tuple[str, str]] = []
    for position, letter in enumerate(word[1:], start=1):
        if letter in prefix.valued:
            attached = word[position + 1 :]
            return [*found, (f"-{letter}", attached)], not attached
        if letter not in prefix.flags:
            return None
        found.append((f"-{letter}", ""))
    return (found, False) if found else None


def _behind_runner(name: str, words: list[str]) -> list[str]:
    """The words from the next program or prefix on; ``words`` itself when there is none."""
    found = scan(words)
    end = found[0] if found else min(len(words), SCAN_LIMIT)
    start = next((i for i in range(1, end) if _starts_something(words, i)), end)
    if found is None and start == end:
        return words
    for word in words[1:start]:
        if word.partition("=")[0] in _SETS_VARIABLES.get(name, ()):
            raise BadInput(
                f"option {word.partition('=')[0]} of {name} sets variables in a way that is not "
                f"read; leave it out and put NAME=value in front of {name}"
            )
    inner = words[start:]
    # `uv run -m MODULE` has no word for the interpreter; any will do.
    return ["python", *inner] if inner[0].startswith("-") else inner


def _starts_something(words: list[str], index: int) -> bool:
    name = basename(words[index])
    following = words[index + 1] if index + 1 < len(words) else ""
    if name == "env":
        # `conda run -n env python` names an environment.
        return "=" in following or following.startswith(("-i", "-u", "--ignore", "--unset"))
    return name in PREFIXES or name in ENGINES or name in CLUSTERS or name in SHELLS
