"""Launches in shell scripts: what is found, what stays open, and what cannot be told."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.model import Unseen
from pathtrace.tracer.launch.open_text import opened
from pathtrace.tracer.manifests.model import Found, FoundLaunch, Spot, UnreadLaunch
from pathtrace.tracer.manifests.shell import launches_in_shell

RUN = "python -m sglang.launch_server"


def found_in(script: str, **variables: str) -> list[Found]:
    return launches_in_shell(script.replace("RUN", RUN), "run.sh", variables)


def one(script: str, **variables: str) -> FoundLaunch:
    (found,) = found_in(script, **variables)
    assert isinstance(found, FoundLaunch), found
    return found


def unread(script: str, **variables: str) -> UnreadLaunch:
    (found,) = found_in(script, **variables)
    assert isinstance(found, UnreadLaunch), found
    return found


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        ("RUN --tp 4 # --dp 2", ["--tp", "4"]),
        ("RUN \\\n  --tp \\\n  4", ["--tp", "4"]),
        ("sglang serve --model-path m", ["--model-path", "m"]),
        ("nohup numactl -N 0 RUN --tp 4 > log 2>&1 &", ["--tp", "4"]),
        ("TP=4\nRUN --tp $TP --x=${TP}", ["--tp", "4", "--x=4"]),
        ("RUN --tp $TP", ["--tp", opened("$TP")]),
        ('RUN --model-path "/m/$NAME"', ["--model-path", f"/m/{opened('$NAME')}"]),
        ("RUN --x=$EXTRA", ["--x=" + opened("$EXTRA")]),
        ('RUN --a "$ARGS"', ["--a", opened("$ARGS")]),
        ("TP=$(nproc)\nRUN --tp $TP", ["--tp", opened("$(nproc)")]),
        ("RUN --tp `nproc`", ["--tp", opened("`nproc`")]),
        ("RUN --tp $((N * 2))", ["--tp", opened("$((N * 2))")]),
        ("unset V\nRUN --x $V --y", ["--x", "--y"]),
        ("RUN --chat-template ~/t.jinja", ["--chat-template", opened("~") + "/t.jinja"]),
        ("RUN --port ${PORT:?set it}", ["--port", opened("${PORT:?set it}")]),
        ("X=$Y\nRUN --x ${X:-1}", ["--x", opened("${X:-1}")]),
        ("X=a$Y\nRUN --x ${X:-1}", ["--x", "a" + opened("$Y")]),
        ("RUN --dist-init-addr $HOSTNAME:5000", ["--dist-init-addr", opened("$HOSTNAME") + ":5000"]),
        ("RUN --x ${HOSTNAME:-h}", ["--x", opened("${HOSTNAME:-h}")]),
        ("source env.sh\nRUN --x ${TP:-4}", ["--x", opened("${TP:-4}")]),
        ("source env.sh\nTP=8\nRUN --x ${TP:-4}", ["--x", "8"]),
        ("if [ -z $X ]; then TP=1; else TP=2; fi\nRUN --tp $TP", ["--tp", opened("$TP")]),
        ("if [ -z $X ]; then TP=1; else TP=1; fi\nRUN --tp $TP", ["--tp", "1"]),
        ("TP=1\n[ -n \"$X\" ] && TP=2\nRUN --tp $TP", ["--tp", opened("$TP")]),
        ("TP=1\nif [ -z \"$X\" ]; then TP=2; exit 1; fi\nRUN --tp $TP", ["--tp", "1"]),
        ("TP=1\ncd /x || exit 1\nRUN --tp $TP", ["--tp", "1"]),
        ("TP=1\necho | TP=2\nRUN --tp $TP", ["--tp", "1"]),
        ("TP=1\nwhile read l; do TP=$l; done < f\nRUN --tp $TP", ["--tp", opened("$TP")]),
        ("read TP\nRUN --tp $TP", ["--tp", opened("$TP")]),
        ("case $X in a) T=1;; *) T=2;; esac\nRUN --tp $T", ["--tp", opened("$T")]),
        (
            "TP=1\nwhile [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift 2;; esac; done\nRUN --tp $TP",
            ["--tp", opened("$TP")],
        ),
        ("ssh h <<EOF\nx\nEOF\nRUN", []),
        ("trap 'kill 0' EXIT; set -euo pipefail; sleep 1\nRUN", []),
        ("bash -c \"RUN --tp $TP --x '$Y'\"", ["--tp", opened("$TP"), "--x", opened("$Y")]),
        ("docker run --gpus all -e A=1 img RUN --tp 4", ["--tp", "4"]),
        ("pip install sglang && RUN --a", ["--a"]),
        ("$PYTHON -m sglang.launch_server --a", ["--a"]),
        ("RUN --a \\ \n  --b", ["--a", " "]),
    ],
)  # fmt: skip
def test_the_words_are_those_that_the_script_states(script: str, argv: list[str]) -> None:
    assert list(one(script).launch.argv) == argv


@pytest.mark.parametrize(
    ("script", "argv"),
    [
        ("RUN --tp ${TP:-4}", ["--tp", "8"]),
        ("RUN $EXTRA", ["--a", "b"]),
        ('RUN "$EXTRA"', ["--a b"]),
        ("if [ $TP -gt 4 ]; then RUN --big; else RUN --small; fi", ["--big"]),
        ("TP=2\nRUN --tp $TP", ["--tp", "2"]),
    ],
)
def test_a_variable_that_the_caller_gives_is_what_the_script_finds(script: str, argv: list[str]) -> None:
    assert list(one(script, TP="8", EXTRA="--a b").launch.argv) == argv


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("RUN $EXTRA_ARGS", "$EXTRA_ARGS may hold any flags and nothing in the file sets it; give it with --env EXTRA_ARGS=..."),  # noqa: E501
        ("RUN --a b ${X}", "${X} may hold any flags and nothing in the file sets it; give it with --env X=..."),
        ('RUN "$@"', "$@ may hold any flags: it stands for the script's own arguments; write them in its place"),
        ("RUN --a $@", "$@ may hold any flags: it stands for the script's own arguments; write them in its place"),
        ('RUN "${ARGS[@]}"', "${ARGS[@]} may hold any flags and nothing in the file sets it; write the flags in its place"),  # noqa: E501
        ("RUN $(cat flags)", "$(cat flags) may hold any flags and is known only when it runs; write the flags in its place"),  # noqa: E501
        ("source x\nRUN $X", "$X may hold any flags and what it sources is not followed; give it with --env X=..."),
        (
            'A=(--a)\nif [ $X ]; then A+=(--b); fi\nRUN "${A[@]}"',
            "${A[@]} may hold any flags, and what it is depends on a condition of line 2 that nothing in the file "
            "decides; write the flags in its place",
        ),
        ("$PRE numactl -N 0 RUN", "$PRE may hold any flags and nothing in the file sets it; give it with --env PRE=..."),  # noqa: E501
    ],
)  # fmt: skip
def test_a_word_that_may_hold_any_flags_leaves_the_launch_unread(script: str, reason: str) -> None:
    assert unread(script).reason == reason


@pytest.mark.parametrize("script", ["ssh host 'RUN --tp 4'", "mywrapper RUN", "tmux new -d 'RUN'", "sudo -Z RUN"])
def test_a_command_in_front_that_is_not_read_leaves_the_launch_unread(script: str) -> None:
    assert unread(script).spot == Spot(1, 1)


@pytest.mark.parametrize(
    "script",
    [
        "echo RUN --tp 4",
        "cat <<EOF > run.sh\nRUN\nEOF",
        "# RUN",
        "pgrep -f sglang.launch_server",
        "exit 0\nRUN",
        "false && RUN",
        "if false; then RUN; fi",
        "while false; do RUN; done",
        "f() { RUN; }",
        "pip install 'sglang[all]'",
        "git commit -m 'sglang serve'",
        "case a in b) RUN;; esac",
    ],
)
def test_what_is_printed_written_or_never_runs_is_no_launch(script: str) -> None:
    assert found_in(script) == []


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("RUN --tp ${TP:-4}", "TP is taken as not set, so ${TP:-4} is 4; --env TP=... says otherwise"),
        ("X=${TP-4}\nRUN --tp $X", "TP is taken as not set, so ${TP-4} is 4; --env TP=... says otherwise"),
        ("RUN ${X:+--x $X}", "X is taken as not set, so ${X:+--x $X} is empty; --env X=... says otherwise"),
        ("export A=${A:-1}\nRUN", "A is taken as not set, so ${A:-1} is 1; --env A=... says otherwise"),
        ("RUN --tp ${1:-4}", "the script is taken as started without arguments, so ${1:-4} is 4"),
        ("if [ $X ]; then\nRUN\nfi", "line 2 runs only if `[ $X ]` holds"),
        ("if [ $X ]; then :; else\nRUN\nfi", "line 2 runs only if `[ $X ]` does not hold"),
        ("[ $X ] && RUN", "line 1 runs only if `[ $X ]` succeeds"),
        ("make || RUN", "line 1 runs only if `make` fails"),
        ("case $X in a|b) RUN;; esac", "line 1 runs only if $X matches a|b"),
        ("while [ $X ]; do RUN; done", "line 1 runs only if `[ $X ]` holds"),
        ("source env.sh\nRUN", "line 1 runs `source env.sh`, which is not followed: it may set variables otherwise"),
        ("$PY -m sglang.launch_server", "$PY is taken as a Python interpreter"),
        ("RUN --tp $TP", "$TP is taken as the one value of --tp"),
        ("[ ${D:-0} = 0 ] && RUN", "D is taken as not set, so ${D:-0} is 0; --env D=... says otherwise"),
    ],
)
def test_what_is_taken_for_granted_is_said(script: str, note: str) -> None:
    assert note in one(script).notes


@pytest.mark.parametrize(
    ("script", "unseen"),
    [
        ("source ./env.sh\nRUN", Unseen(("`source ./env.sh` in line 1",))),
        ("RUN\n. ./env.sh", None),
        # An environment of Python's sets PATH.
        (". venv/bin/activate\nRUN", None),
    ],
)
def test_what_is_sourced_before_may_set_any_variable(script: str, unseen: Unseen | None) -> None:
    assert one(script).launch.unseen == unseen


@pytest.mark.parametrize(
    ("script", "notes"), [("RUN --tp 4", ()), ("cd x && RUN", ()), ("while true; do RUN; sleep 1; done", ())]
)
def test_nothing_is_said_where_nothing_is_taken_for_granted(script: str, notes: tuple[str, ...]) -> None:
    assert one(script).notes == notes


@pytest.mark.parametrize(
    ("script", "env", "unexported", "unset"),
    [
        ("A=1 RUN", {"A": "1"}, {}, set()),
        ("A=1\nRUN", {}, {"A": "1"}, set()),
        ("A=1\nexport A\nRUN", {"A": "1"}, {}, set()),
        ("export A=1\nexport -n A\nRUN", {}, {}, {"A"}),
        ("declare -x A=1\nRUN", {"A": "1"}, {}, set()),
        ("set -a\nA=1\nset +a\nB=2\nRUN", {"A": "1"}, {"B": "2"}, set()),
        ("unset A\nRUN", {}, {}, {"A"}),
        ("export A=$B\nRUN", {"A": opened("$B")}, {}, set()),
        ("export A=1\n(export A=2)\nRUN", {"A": "1"}, {}, set()),
        ("export G=2\nRUN", {"G": "2"}, {}, set()),
        ("G=2\nRUN", {"G": "2"}, {}, set()),
        ("RUN", {}, {}, set()),
        ("env -u B A=1 RUN", {"A": "1"}, {}, {"B"}),
        ("f() { local A=1; export B=2; }\nf\nRUN", {"B": "2"}, {}, set()),
        ("A=1; B=2\nenv C=3 bash -c 'RUN'", {"C": "3"}, {}, set()),
    ],
)
def test_the_environment_is_what_the_script_exports(
    script: str, env: dict[str, str], unexported: dict[str, str], unset: set[str]
) -> None:
    launch = one(script, G="1").launch
    assert (launch.env, launch.unexported, launch.unset) == (env, unexported, unset)
    assert launch.outside == "kept"


def test_flags_behind_a_broken_continuation_are_pointed_out() -> None:
    note = "line 2 starts with --tp and is a command of its own; end the line before it with a backslash"
    assert one("RUN --a\n  --tp 4").notes == (note,)


def test_a_container_gets_what_is_passed_in() -> None:
    launch = one("export A=1 B=2\ndocker run -e A -e C=3 -e D img RUN").launch
    assert (launch.env, launch.outside, launch.forwarded) == ({"A": "1", "C": "3"}, "given", {"D"})


def test_the_environment_around_the_script_reaches_the_server_and_the_script() -> None:
    env = {"TP": "4", "KEY": opened("secret key")}
    (found,) = launches_in_shell(f"{RUN} --tp $TP --api-key $KEY", "pod.yaml", {}, env=env)
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == ("--tp", "4", "--api-key", opened("secret key"))
    assert found.launch.env == env


def test_the_caller_states_what_the_environment_leaves_open() -> None:
    (found,) = launches_in_shell(f"{RUN} --a $KEY", "pod.yaml", {"KEY": "k"}, env={"KEY": opened("secret")})
    assert isinstance(found, FoundLaunch)
    assert found.launch.argv == ("--a", "k")


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("RUN", [""]),
        ("RUN\nRUN --tp 2", ["line 1", "line 2"]),
        ("start() { RUN; }\nstart", ["start"]),
        ("start() { RUN --p $1; }\nstart 1\nstart 2\nRUN", ["start 1", "start 2", "line 4"]),
        ("for p in 1 2; do RUN --p $p; done", ["line 1 1", "line 1 2"]),
        ("if [ $X ]; then RUN --a\nelse RUN --b; fi", ["line 1", "line 2"]),
    ],
)
def test_names_tell_the_launches_of_a_file_apart(script: str, names: list[str]) -> None:
    assert [each.name for each in found_in(script)] == names


def test_every_word_and_variable_has_its_place() -> None:
    script = 'export A=1\nARGS=(\n  --tp 4\n)\nDP=2\nB=3 nohup RUN \\\n  "${ARGS[@]}" --dp $DP é --x\n'
    found = one(script)
    assert found.spot == Spot(6, 5)
    assert found.words == (Spot(3, 3), Spot(3, 8), Spot(7, 16), Spot(5, 4), Spot(7, 25), Spot(7, 27))
    assert found.variables == {"A": Spot(1, 8), "B": Spot(6, 1)}


def test_places_count_from_where_the_text_starts() -> None:
    (found,) = launches_in_shell(f"{RUN} --a\n", "x", {}, first_line=5, first_column=10)
    assert (found.spot, found.words if isinstance(found, FoundLaunch) else ()) == (Spot(5, 10), (Spot(5, 41),))
    (found,) = launches_in_shell(f"cd x\n{RUN}", "x", {}, first_line=5, first_column=10)
    assert found.spot == Spot(6, 1)


def test_places_in_a_shell_in_the_script_are_those_of_the_file() -> None:
    assert one("set -e\nbash -c 'cd x\n  RUN --a'").words == (Spot(3, 34),)
    assert one("bash <<-'EOF'\n\tRUN --a\n\tEOF\n").words == (Spot(2, 33),)


def test_python_code_is_read_for_its_engine() -> None:
    launch = one("python - <<'EOF'\nimport sglang as sgl\nsgl.Engine(model_path='m', tp_size=2)\nEOF\n").launch
    assert (launch.entry, launch.kwargs) == ("engine", {"model_path": "m", "tp_size": 2})
    assert one("python -c 'import sglang; sglang.Engine(model_path=\"m\")'").launch.kwargs == {"model_path": "m"}


def test_a_command_put_together_in_a_branch_is_not_lost() -> None:
    found = unread('CMD="RUN"\nif [ $X ]; then CMD="$CMD --x"; fi\n$CMD')
    assert found.spot == Spot(3, 1)
    found = unread('CMD=(RUN)\nif [ $X ]; then CMD+=(--x); fi\n"${CMD[@]}"')
    assert "condition of line 2" in found.reason


@pytest.mark.parametrize(
    ("script", "line"), [("RUN\nif true; then\n", None), ("RUN\necho 'a\n", None), ("RUN\n\n)\n", 3)]
)
def test_what_is_no_shell_is_refused_where_it_goes_wrong(script: str, line: int | None) -> None:
    with pytest.raises(BadInput, match="is not shell that can be read") as caught:
        found_in(script)
    assert caught.value.file == "run.sh"
    assert caught.value.line == (line or caught.value.line)


def test_text_without_the_name_is_not_even_parsed() -> None:
    assert found_in("if ((( ' no shell at all") == []


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("RUN\0", "NUL character"),
        ("RUN\n" + "# x\n" * 600_000, "over 2 MB"),
        ("RUN\n" * 101, "over 100 SGLang servers"),
        ("RUN\nx=aaaaaaaa\n" + 'x="$x$x"\n' * 60, "grows over 8 MB"),
        ("RUN\na=(x)\n" + 'a+=("${a[@]}")\n' * 60, "grows over 8 MB"),
        ("RUN\n" + "{ " * 250 + "a" + "; }" * 250, "nests over 200"),
        ("RUN\n" + "(" * 10_000, "is not shell"),
        ("RUN\n" + "$(" * 10_000, "is not shell"),
        ("RUN\n" + "a | " * 20_000 + "b", "too many pipes"),
        ("RUN\n" + "for i in 1 2 3 4 5 6 7 8 9; do\n" * 8 + "x=1\n" + "done\n" * 8, "runs over"),
        ("".join(f"f{n}() {{ f{n + 1}; }}\n" for n in range(400)) + "f400() { RUN; }\nf0", "nests over 200"),
        ("f() { g; g; }; g() { h; h; }; h() { i; i; }\n" + "i() { RUN; f; }\n" + "f\n" * 60, "over 100 SGLang servers"),
    ],
    ids=range(12),
)
def test_hostile_text_is_refused_in_bounded_time(script: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(BadInput, match=message):
        found_in(script)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "script",
    [
        "a && " * 5_000 + "RUN",
        "f() { f; }\nf\nRUN",
        "RUN\nx " + "${a:-" * 150 + "}" * 150,
        "RUN\nx={a,".replace("x=", "x ") + "{a," * 3_000 + "}" * 3_001,
        'RUN\nx=\'eval "$x"\'\neval "$x"',
        "if [ $X ]; then\n" * 150 + "x=1\n" + "fi\n" * 150 + "RUN",
    ],
    ids=range(6),
)
def test_odd_text_is_read_in_bounded_time(script: str) -> None:
    start = time.process_time()
    assert len(found_in(script)) == 1
    assert time.process_time() - start < 10


def test_a_long_script_is_read_quickly() -> None:
    block = '# comment\nA{i}=1\necho "hello $A{i}" >> log\ncurl --x "$C" a b c\n'
    script = "".join(block.replace("{i}", str(number)) for number in range(12_500)) + "RUN --tp $A7\n"
    start = time.process_time()
    assert one(script).launch.argv == ("--tp", "1")
    assert time.process_time() - start < 6


_PIECES = st.sampled_from(
    [
        "RUN", " --tp ", "$X", '"', "'", "${X:-", "}", "$(", ")", "(", "((", "))", "`", "\n", "; ", " && ", " || ", " | ",  # noqa: E501
        "if ", "then ", "else ", "fi\n", "for x in ", "do ", "done\n", "case $X in ", "esac\n", ";;", "f() ", "{ ", "; }",  # noqa: E501
        "A=", "A+=(", "${A[@]}", '"$@"', "<<EOF\n", "\nEOF\n", "<<< ", "[ ", " ]", "[[ ", " ]]", " = ", "export ", "local ",  # noqa: E501
        "unset ", "set -- ", "eval ", "bash -c ", "source ", "return", "break", "exit", "\\", "\\\n", "$'", "é", "{a,b}",  # noqa: E501
        "*", "${X//a/b}", "${#X}", "$((X+1))", "&", "!", "while ", "$1", "~", "\ue0000\ue001", "\r\n", "docker run ", "-e ",  # noqa: E501
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.text(), st.lists(_PIECES, max_size=25).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    for script in (text, f"RUN\n{text}\nRUN"):
        try:
            found = found_in(script)
        except BadInput:
            continue
        assert all(isinstance(each, (FoundLaunch, UnreadLaunch)) for each in found)


_BASH = shutil.which("bash")
_RECORDER = """#!/bin/bash
{ printf 'a%s\\0' "$@"; env -0 | while IFS= read -r -d '' v; do [[ $v == SGLANG_* ]] && printf 'e%s\\0' "$v"; done; } \
> "$RECORDS/$BASHPID-$RANDOM"
exit 0
"""

SCRIPTS = {
    "quotes": """python -m sglang.launch_server --a 'b c' "d e" f\\ g 'h'"i"j "k\\"l" 'm\\n' "o\\p\\$q" ''""",
    "ansi quotes": r"""python -m sglang.launch_server $'a\tb' $'c\'d' $'\x41\u00e9' $"e" """,
    "continuations": "python -m sglang.launch_server \\\n  --tp 4 \\\n  --dp \\\n 2 # --ep 3\n",
    "comment between": "# --x\npython -m sglang.launch_server --a#b '#c' #d\n",
    "prefix": "SGLANG_A=1 SGLANG_B='x y' python -m sglang.launch_server --a",
    "split": 'X="--a  b"\npython -m sglang.launch_server $X "$X" x$X',
    "empty": 'X=\npython -m sglang.launch_server $X "$X" a$X',
    "exports": """
SGLANG_A=1; export SGLANG_B=2 SGLANG_C; SGLANG_C=3
export SGLANG_A; declare -x SGLANG_D=4; readonly SGLANG_E=5; export -n SGLANG_B
export SGLANG_F=6; unset SGLANG_F
python -m sglang.launch_server""",
    "allexport": "SGLANG_A=1\nset -a\nSGLANG_B=2\nset +a\nSGLANG_C=3\npython -m sglang.launch_server",
    "defaults": """
A=; unset B
python -m sglang.launch_server "${A:-d}" "${A-e}" "${B:-f}" "${B-g}" "${A:+h}" "${A+i}" ${B+j} "${C:=k}" "$C" ${B:-l m} ${B:-"n o"}""",  # noqa: E501
    "cutting": """
V=/models/llama.tar.gz
python -m sglang.launch_server ${V##*/} ${V#*/} ${V%.gz} ${V%%.*} ${#V} ${V/llama/qwen} ${V//a/_} ${V:1:6} ${V: -2} ${V^^}""",  # noqa: E501
    "arithmetic": "A=7\npython -m sglang.launch_server $((A*2+1)) $(( (A - 1) / 2 )) $((-A / 2)) $((A % 4)) $(($A > 3))",  # noqa: E501
    "arrays": """
ARGS=(--a "b c" # no
  'd')
ARGS+=(--e "$HOME_UNSET_X"f)
ARGS[1]=z
python -m sglang.launch_server "${ARGS[@]}" ${#ARGS[@]} "${ARGS[*]}" ${ARGS[1]} "${ARGS[@]:1:2}" $ARGS""".replace(
        '"$HOME_UNSET_X"', ""
    ),
    "empty array": 'A=()\npython -m sglang.launch_server "${A[@]}" --x ${A[@]} ${A[@]+"${A[@]}"} "p${A[@]}"',
    "array of words": 'A=("a b" c)\npython -m sglang.launch_server ${A[@]} x"${A[@]}"y ${A[@]+"${A[@]}"}',
    "function": """
TP=1
start() { local TP=$1; shift; python -m sglang.launch_server --tp "$TP" --n $# "$@" "${2-none}"; X=set; }
start 4 "a b" c
start 8
python -m sglang.launch_server $TP $X""",
    "return": """
f() { if [ "$1" = a ]; then return; fi; python -m sglang.launch_server "$1"; }
f a; f b""",
    "branches": """
X=b
if [ "$X" = a ]; then M=1; elif [[ $X == b* && -n $X ]]; then M=2; else M=3; fi
case "$X" in a|c) N=1;; b) N=2;; *) N=3;; esac
[ -z "$X" ] || python -m sglang.launch_server $M $N
[ $M -eq 2 ] && ! false && python -m sglang.launch_server and
[[ $M -gt 2 || ! ( $X == z ) ]] && python -m sglang.launch_server double""",
    "loop": 'for p in 1 2 "3 4"; do [ "$p" = 2 ] && continue; python -m sglang.launch_server --p "$p"; done',
    "counted loop": "for ((i=0; i<3; i++)); do python -m sglang.launch_server --p $((3000+i)); done\n",
    "braces": "for g in {0..2}; do python -m sglang.launch_server --x={a,b$g} {c,}d '{e,f}' {g}; done",
    "subshells": """
A=1
( A=2; python -m sglang.launch_server $A )
{ A=3; python -m sglang.launch_server $A; }
A=4 | A=5
(A=6; exit)
python -m sglang.launch_server $A &
wait""",
    "pipes and redirects": """
python -m sglang.launch_server --a 2>&1 > out --b | cat
python -m sglang.launch_server --c >> out 2>err < /dev/null --d""",
    "heredocs": """
X=1
cat <<EOF > data
python -m sglang.launch_server --no
EOF
bash <<EOF
X=2
python -m sglang.launch_server $X \\$X
EOF
bash -s -- a "b c" <<'EOF'
python -m sglang.launch_server "$2".
EOF
cat <<-'EOF' | bash
	python -m sglang.launch_server --piped
	EOF
bash <<< "python -m sglang.launch_server --string $X\"""",
    "shells": """
export SGLANG_A=1; B=2
bash -c 'python -m sglang.launch_server "$SGLANG_A" "$@"' name a "b c"
eval "python -m sglang.launch_server '--a b' $B"
C='python -m sglang.launch_server --c'
$C d
sh -c "$C e"
env SGLANG_B=3 -u SGLANG_A nohup python -m sglang.launch_server || true
env -u SGLANG_A SGLANG_B=3 nohup python -m sglang.launch_server""",
    "exec": "python -m sglang.launch_server 1\nexec python -m sglang.launch_server 2\npython -m sglang.launch_server 3",
    "exit": "if false; then exit; fi\npython -m sglang.launch_server 1\nexit 0\npython -m sglang.launch_server 2",
    "printed": "echo python -m sglang.launch_server --a\nprintf '%s' 'python -m sglang.launch_server'",
    "set arguments": 'set -- a "b c"\nshift\npython -m sglang.launch_server "$1" $# $1',
    "substitution starts": "X=$(python -m sglang.launch_server --inside)\npython -m sglang.launch_server --outside",
    "separators": "IFS=,\nX=a,b\npython -m sglang.launch_server $X",
    "append": 'X=a\nX+=b\nX+=" $X"\npython -m sglang.launch_server "$X"',
    "indirect": "A=B\nB=c\npython -m sglang.launch_server ${!A}",
    "function environment": "f() { python -m sglang.launch_server; }\nSGLANG_A=1 f\nf",
    "redirected group": "{ X=1; python -m sglang.launch_server $X; } > out 2>&1\npython -m sglang.launch_server $X",
    "until": "until true; do python -m sglang.launch_server no; done\nwhile true; do python -m sglang.launch_server yes; break; done",  # noqa: E501
}


def _by_bash(script: str, folder: Path) -> list[tuple[list[str], dict[str, str]]]:
    records, programs = folder / "records", folder / "bin"
    records.mkdir()
    programs.mkdir()
    (programs / "python").write_text(_RECORDER)
    (programs / "python").chmod(0o755)
    env = {"PATH": f"{programs}:/usr/bin:/bin", "RECORDS": str(records), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [str(_BASH), "--noprofile", "--norc", "-c", script],
        env=env,
        cwd=folder,
        timeout=20,
        check=False,
        capture_output=True,
    )
    assert b"syntax error" not in done.stderr
    found = []
    for record in records.iterdir():
        parts = record.read_text("utf-8").split("\0")[:-1]
        words = [part[1:] for part in parts if part[0] == "a"]
        assert words[:2] == ["-m", "sglang.launch_server"]
        found.append((words[2:], dict(part[1:].split("=", 1) for part in parts if part[0] == "e")))
    return sorted(found, key=repr)


@pytest.mark.skipif(_BASH is None, reason="needs bash")
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_words_and_variables_are_those_that_bash_gives(name: str, tmp_path: Path) -> None:
    found = launches_in_shell(SCRIPTS[name], "run.sh", {})
    assert all(isinstance(each, FoundLaunch) for each in found), found
    ours = [
        (list(each.launch.argv), {k: v for k, v in each.launch.env.items() if k.startswith("SGLANG_")})
        for each in found
        if isinstance(each, FoundLaunch)
    ]
    assert sorted(ours, key=repr) == _by_bash(SCRIPTS[name], tmp_path)
