"""Shell text is read as a shell reads it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pathtrace.tracer.errors import BadInput
from pathtrace.tracer.launch.expand import Shell
from pathtrace.tracer.launch.lexer import read_commands
from pathtrace.tracer.launch.parse import parse_launch

S = "python -m sglang.launch_server"
SNIPPETS = [
    f"{S} --a \\\n  --b \\\n\t'c d' # comment",
    f"""{S} --json '{{"a": 1, "b": [2]}}' --json2="{{\\"a\\": 1}}" --c a#b '#' "#" ''""",
    f'A=1; B="$A-2"; export C=$B; {S} ${{A}}x \'$A\' "\\$A" "$B" \\$A a$ ""$A\'\'',
    f'F="--tp 8  --dp 2 "; {S} $F "$F" x$F$F.y',
    f"E=; {S} $E \"$E\" ${{E:-d}} ${{E-d}} ''$E",
    f'unset U; {S} ${{U:-d}} $U "$U" ${{U-e}}',
    f"{S} --a 2>&1 >/dev/null 3</dev/null --b2 2 >&2",
    f"cat <<EOF >/dev/null\n'unclosed $(\nEOF\n{S} --a",
    f"cat <<-'E F' >/dev/null\n\tx\n\tE F\n{S} --a",
    f"true &&\n\n {S} --a",
    f'export A=\'a\nb\' B="c\\\nd\\e"; {S} "x\ny" $\'q\' $"r"',
    f"export A=1 B=2; export -n B; unset A; C=3 env D=4 nice -n 0 {S} --a",
    f"export A=1; A+=2; {S} --a",
    f"export A=1; env -u A B='x y' {S} --a && true",
    f"export A=1 B=2; bash -c 'export C=$A; unset B; {S} \"$A\" {{}}'",
    f"set -a; A=1; set +a; B=2; {S} --a~b ~x* [a] a=b {{a}} \\{{a,b\\}} '{{a,b}}'",
    f"export A=1 | true; {S} --a; true; unset A",
    f'A=1 true; A="q"; {S} $A; exit 0',
    f"for x in 1; do true; done; if false; then true; else :; fi; {S} --a",
    f"{S} --a\r\n".replace("\r", ""),
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the judge here")
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_words_and_environment_are_those_that_bash_gives(snippet: str, tmp_path: Path) -> None:
    script = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]), file=open(OUT, 'w'))"
    program = tmp_path / "python"
    code = script.replace("OUT", repr(str(tmp_path / "out")))
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-c", snippet], env={"PATH": path}, check=True, cwd=tmp_path)
    argv, environment = json.loads((tmp_path / "out").read_text())

    launch = parse_launch([snippet])

    assert list(launch.argv) == argv[2:]
    shell_own = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
    assert launch.env == {k: v for k, v in environment.items() if k not in shell_own}


def words_of(text: str) -> list[list[str]]:
    return [Shell().expand(command.words, strict=False) for command in read_commands(text)]


@given(st.text(alphabet="ab=-{}:,'\"\\ \t/é", max_size=40))
def test_plain_words_are_those_of_shlex(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        # shlex also refuses a backslash at the very end, which a shell drops.
        assume(not text.endswith("\\"))
        with pytest.raises(BadInput):
            read_commands(text)
        return
    assert words_of(text) == ([expected] if expected else [])


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20)))
def test_quoting_with_shlex_gives_the_words_back(words: list[str]) -> None:
    launch = parse_launch([shlex.join(["python", "-m", "sglang.launch_server", *words])])
    assert list(launch.argv) == words
