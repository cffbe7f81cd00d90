"""The command `completion`: scripts for bash, zsh and fish, written from the parser."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from gstar_fast._cli.output import Console
from gstar_fast._cli.parser import COMMANDS, make_parser
from gstar_fast._criteria import CRITERION
from gstar_fast._words import BACKENDS


class _Option(NamedTuple):
    names: list[str]
    help: str
    values: tuple[str, ...]  # all it may have; empty where anything goes
    takes_value: bool


def completion(given: argparse.Namespace, _: Console) -> None:
    """Print a completion script."""
    subparsers = next(one for one in make_parser("")._actions if isinstance(one, argparse._SubParsersAction))
    options = {
        name: [_option(action) for action in command._actions if action.option_strings]
        for name, command in subparsers.choices.items()
    }
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[given.shell](options), end="")


def _option(action: argparse.Action) -> _Option:
    names = list(action.option_strings)
    values = tuple(map(str, action.choices or ()))
    if "--limit" in names or "--penalty" in names:
        values = tuple(f"{name}=" for name in CRITERION)
    elif "--criterion" in names:
        values = tuple(CRITERION)
    text = (action.help or "").replace("%(default)s", str(action.default))
    return _Option(names, text, values, action.nargs != 0)


_BASH = """# bash completion for gstar-fast
_gstar_fast() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${COMP_WORDS[i]}" in @any@) command="${COMP_WORDS[i]}"; break ;; esac
    done
    case "$command $before" in
@values@
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
        return
    fi
    case "$command" in
        "") words="@commands@ --help --version" ;;
        completion) words="bash zsh fish" ;;
@options@
    esac
    if [[ "$word" == -* || -z "$command" || "$command" == completion ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    fi
}
complete -o default -o nospace -F _gstar_fast gstar-fast
"""

_ZSH = """#compdef gstar-fast
_gstar_fast() {
    local -a commands
    commands=(
@commands@
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case "${words[2]}" in
@options@
    esac
}
if [ "$funcstack[1]" = _gstar-fast ]; then
    _gstar_fast "$@"
else
    compdef _gstar_fast gstar-fast
fi
"""


def _filled(script: str, **parts: str) -> str:
    for name, text in parts.items():
        script = script.replace(f"@{name}@", text)
    return script


def _bash(commands: dict[str, list[_Option]]) -> str:
    places: dict[tuple[str, ...], list[str]] = {}  # values -> where they are wanted; --nan has others in `apply`
    for name, options in commands.items():
        for option in options:
            if option.values:
                places.setdefault(option.values, []).append(f'"{name} {option.names[-1]}"')
    places.setdefault(BACKENDS, []).append('" --backend"')  # also before the command
    words = {name: " ".join(word for option in options for word in option.names) for name, options in commands.items()}
    return _filled(
        _BASH,
        any="|".join(commands),
        values="\n".join(f'        {"|".join(at)}) words="{" ".join(values)}" ;;' for values, at in places.items()),
        commands=" ".join(commands),
        options="\n".join(f'        {name}) words="{text}" ;;' for name, text in words.items() if name != "completion"),
    )


def _zsh(commands: dict[str, list[_Option]]) -> str:
    def quoted(text: str) -> str:
        return text.replace("'", "'\\''")

    cases = []
    for name, options in commands.items():
        cases += [f"        {name})", "            _arguments \\"]
        for option in options:
            text = quoted(option.help).replace("[", "(").replace("]", ")").replace(":", ";")
            values = f"({' '.join(option.values)})" if option.values else "_files"
            value = f":value:{values}" if option.takes_value else ""
            cases += [f"                '*{word}[{text}]{value}' \\" for word in option.names]
        last = "'*:shell:(bash zsh fish)'" if name == "completion" else "'*:file:_files'"
        cases += [f"                {last}", "            ;;"]
    lines = "\n".join(f"        '{name}:{quoted(COMMANDS[name][0])}'" for name in commands)
    return _filled(_ZSH, commands=lines, options="\n".join(cases))


def _fish(commands: dict[str, list[_Option]]) -> str:
    def described(text: str) -> str:
        return "-d '" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    begin = "complete -c gstar-fast -n"
    lines = ["# fish completion for gstar-fast"]
    lines += [f"{begin} __fish_use_subcommand -f -a {name} {described(COMMANDS[name][0])}" for name in commands]
    lines.append(f"{begin} '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'")
    for name, options in commands.items():
        for option in options:
            words = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.names)
            value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" if option.takes_value else ""
            lines.append(f"{begin} '__fish_seen_subcommand_from {name}' {words}{value} {described(option.help)}")
    return "\n".join(lines) + "\n"
