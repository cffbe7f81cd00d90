"""The command `completion`: scripts for bash, zsh and fish, written from the parser."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gstar_fast._cli.output import Console
from gstar_fast._cli.parser import COMMANDS, make_parser
from gstar_fast._criteria import CRITERION
from gstar_fast._words import BACKENDS

_CRITERION_OPTIONS = ("--limit", "--penalty")


@dataclass(frozen=True)
class Option:
    """One option of a command, as a shell wants it."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]  # all it may have; empty where anything goes
    takes_value: bool


def completion(given: argparse.Namespace, _: Console) -> None:
    """Print a completion script."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[given.shell](options_of_commands()), end="")


def options_of_commands() -> dict[str, list[Option]]:
    """Command -> its options."""
    parser = make_parser("")
    found: dict[str, list[Option]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                found[name] = [_option(one) for one in command._actions if one.option_strings]
    return found


def _option(action: argparse.Action) -> Option:
    values: tuple[str, ...] = tuple(map(str, action.choices or ()))
    if any(name in _CRITERION_OPTIONS for name in action.option_strings):
        values = tuple(f"{name}=" for name in CRITERION)
    elif "--criterion" in action.option_strings:
        values = tuple(CRITERION)
    text = action.help or ""
    return Option(
        tuple(action.option_strings), text.replace("%(default)s", str(action.default)), values, action.nargs != 0
    )


def _bash(commands: dict[str, list[Option]]) -> str:
    cases: list[str] = []
    places: dict[tuple[str, ...], list[str]] = {}  # values -> where they are wanted; --nan has others in `apply`
    for name, options in commands.items():
        words = " ".join(word for option in options for word in option.names)
        cases.append(f'        {name}) words="{words}" ;;')
        for option in options:
            if option.values:
                places.setdefault(option.values, []).append(f'"{name} {option.names[-1]}"')
    places.setdefault(BACKENDS, []).append('" --backend"')  # also before the command
    choices = [f'        {"|".join(where)}) words="{" ".join(values)}" ;;' for values, where in places.items()]
    lines = [
        "# bash completion for gstar-fast",
        "_gstar_fast() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        f'        case "${{COMP_WORDS[i]}}" in {"|".join(commands)}) command="${{COMP_WORDS[i]}}"; break ;; esac',
        "    done",
        '    case "$command $before" in',
        *choices,
        "    esac",
        '    if [ -n "$words" ]; then',
        '        COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "        return",
        "    fi",
        '    case "$command" in',
        f'        "") words="{" ".join(commands)} --help --version" ;;',
        '        completion) words="bash zsh fish" ;;',
        *(case for case in cases if not case.lstrip().startswith("completion)")),
        "    esac",
        '    if [[ "$word" == -* || -z "$command" || "$command" == completion ]]; then',
        '        COMPREPLY=($(compgen -W "$words" -- "$word"))',
        "    fi",
        "}",
        "complete -o default -o nospace -F _gstar_fast gstar-fast",
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")


def _zsh(commands: dict[str, list[Option]]) -> str:
    lines = ["#compdef gstar-fast", "_gstar_fast() {", "    local -a commands", "    commands=("]
    lines += [f"        '{name}:{_quoted(COMMANDS[name][0])}'" for name in commands]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines.append('    case "${words[2]}" in')
    for name, options in commands.items():
        lines.append(f"        {name})")
        lines.append("            _arguments \\")
        for option in options:
            text = _quoted(option.help).replace("[", "(").replace("]", ")").replace(":", ";")
            value = (
                ""
                if not option.takes_value
                else f":value:({' '.join(option.values)})"
                if option.values
                else ":value:_files"
            )
            lines += [f"                '*{word}[{text}]{value}' \\" for word in option.names]
        last = "'*:shell:(bash zsh fish)'" if name == "completion" else "'*:file:_files'"
        lines += [f"                {last}", "            ;;"]
    lines += ["    esac", "}", 'if [ "$funcstack[1]" = _gstar-fast ]; then', '    _gstar_fast "$@"', "else"]
    lines += ["    compdef _gstar_fast gstar-fast", "fi"]
    return "\n".join(lines) + "\n"


def _fish(commands: dict[str, list[Option]]) -> str:
    lines = ["# fish completion for gstar-fast"]
    for name in commands:
        lines.append(
            f"complete -c gstar-fast -n __fish_use_subcommand -f -a {name} -d '{_fish_quoted(COMMANDS[name][0])}'"
        )
    lines.append("complete -c gstar-fast -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'")
    for name, options in commands.items():
        for option in options:
            words = [f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.names]
            value = f" -x -a '{' '.join(option.values)}'" if option.values else " -r" if option.takes_value else ""
            lines.append(
                f"complete -c gstar-fast -n '__fish_seen_subcommand_from {name}' {' '.join(words)}{value} "
                f"-d '{_fish_quoted(option.help)}'"
            )
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
