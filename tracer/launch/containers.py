"""``docker run``/``exec`` (also podman) and ``kubectl exec``/``run`` in front of a server.

A container does not see the caller's environment; what its image sets is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.program import basename
from pathtrace.tracer.launch.surroundings import Surroundings

ENGINES = frozenset(("docker", "podman", "nerdctl"))
CLUSTERS = frozenset(("kubectl", "oc"))
# Every other option of `run` and `exec` takes a value.
_FLAGS = frozenset(
    """
    --detach --interactive --tty --rm --init --privileged --read-only --publish-all --no-healthcheck
    --oom-kill-disable --sig-proxy --disable-content-trust --quiet --help --replace --rmi --no-hosts
    --http-proxy --tls-verify
    """.split()  # noqa: SIM905
)
_SHORT_FLAGS = "ditPq"


def enter_container(words: list[str], around: Surroundings) -> list[str]:
    """Take off the container command and return the words that run inside.

    Raises:
        BadInput: a form of the command whose inner command cannot be told.
    """
    name = basename(words[0])
    if name in CLUSTERS:
        return _kubernetes(words, around)
    rest = words[1:]
    if rest[:1] == ["container"]:
        rest = rest[1:]
    if rest[:1] not in (["run"], ["exec"]):
        raise BadInput(
            f"only `{name} run ...` and `{name} exec ...` are read; give the server's command as "
            "it runs inside the container"
        )
    settings: list[str] = []
    entrypoint: list[str] = []
    index = 1
    while index < len(rest) and rest[index].startswith("-"):
        option, value, index = _option(rest, index)
        if option in ("-e", "--env"):
            settings.append(value)
        elif option == "--env-file":
            raise BadInput(
                f"--env-file {value} of {name} is not read from the launch; leave it out there and "
                f"give `--env-file {value}` to pathtrace, before the `--`"
            )
        elif option == "--env-host":
            raise BadInput(
                "--env-host passes the caller's environment on; give the server's command as it "
                "runs inside the container, and --inherit-env"
            )
        elif option == "--entrypoint":
            entrypoint = [value]
    inner = entrypoint + rest[index + 1 :]
    if not inner or inner[0].startswith("-"):
        raise BadInput(
            f"the {name} command names no program to run inside, so the image decides; give the "
            "server's command as it runs inside the container"
        )
    around.enter_container(settings)
    return inner


def _option(words: list[str], index: int) -> tuple[str, str, int]:
    """One option of ``run``/``exec``: name, value ('' for a flag), index after it."""
    word = words[index]
    following = words[index + 1] if index + 1 < len(words) else ""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        if equals:
            return name, value, index + 1
        return (name, "", index + 1) if name in _FLAGS else (name, following, index + 2)
    letters = word[1:]
    value_at = next((i for i, letter in enumerate(letters) if letter not in _SHORT_FLAGS), None)
    if value_at is None:
        return word, "", index + 1
    name, attached = f"-{letters[value_at]}", letters[value_at + 1 :].removeprefix("=")
    return (name, attached, index + 1) if attached else (name, following, index + 2)


def _kubernetes(words: list[str], around: Surroundings) -> list[str]:
    if "--" not in words:
        raise BadInput(
            f"`{words[0]}` is read only with `--` before the command that runs inside; add the "
            "`--`, or give that command alone"
        )
    cut = words.index("--")
    around.enter_container(_env_values(words[:cut]))
    return words[cut + 1 :]


def _env_values(words: list[str]) -> Iterator[str]:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--env="):
            yield word.removeprefix("--env=")
        elif word == "--env":
            yield following
