"""The program's own table of options: keyword arguments become a command line, and values in logs get their types."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Union

from onebit import _program
from onebit._program import OnebitError

# A value of an option. None: the option has no value.
Value = Union[str, int, float, bool, None, "list[int]", "list[str]"]


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of a command. `kind`: text, integer, real, boolean, texts, integers, or repeated."""

    name: str
    short: str
    kind: str
    is_flag: bool
    decides_results: bool
    doc: str


@functools.lru_cache(maxsize=4)
def _table(program: str) -> dict[str, list[Option]]:
    try:
        commands = json.loads(_program.call(["completion", "json"], program))
    except (OnebitError, json.JSONDecodeError) as error:
        raise OnebitError("the program and the package differ in version", program,
                          f"install both from the same source; the program says: {error}") from None
    return {command: [Option(each["name"], each["short"], each["kind"], each["flag"], each["decides_results"],
                             each["doc"]) for each in options] for command, options in commands.items()}


def options_of(command: str) -> list[Option]:
    """Returns the options of a command of the program that is in use."""
    return _table(_program.find())[command]


def _keyword(name: str) -> str:
    """Returns the keyword of an option: its name with dots and dashes written as underscores."""
    return name.replace(".", "_").replace("-", "_")


def _text(value: Any) -> str:
    """Returns a value as it is written on a command line."""
    if getattr(value, "ndim", None) == 0:  # a numpy scalar
        value = value.item()
    if isinstance(value, Mapping):  # settings of an arm
        return ",".join(f"{long_name(name)}={_text(each)}" for name, each in value.items())
    if isinstance(value, Iterable) and not isinstance(value, (str, os.PathLike)):
        return ",".join(_text(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)


def _values(values: Any) -> str:
    """Returns the values of an axis, joined by commas, or by semicolons if one contains a comma, as lists do."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return _text(values)
    texts = [_text(each) for each in values]
    if len(texts) == 1 and "," in texts[0]:
        raise OnebitError("an axis with a single list", texts[0], "set the option itself to that list")
    return (";" if any("," in text for text in texts) else ",").join(texts)


def _texts(value: Any) -> list[str]:
    """Returns the texts of an option that may be repeated, one for each item of a list or a mapping."""
    if isinstance(value, Mapping):
        return [f"{name}:{_text(each)}" if isinstance(each, Mapping) else f"{long_name(name)}={_values(each)}"
                for name, each in value.items()]
    return [value] if isinstance(value, str) else [_text(each) for each in value]


def _words_of(option: str, is_flag: bool, is_repeated: bool, value: Any) -> list[str]:
    """Returns the words of a command line that set the option."""
    if value is None or (is_flag and value is False):
        return []
    if is_flag and value is True:
        return [option]
    if is_flag:
        raise OnebitError("a flag is True or False", f"{option[2:]}={value!r}")
    return [word for text in (_texts(value) if is_repeated else [_text(value)]) for word in (option, text)]


def command_line(command: str, settings: Mapping[str, Any]) -> list[str]:
    """Returns the words of a command line from keyword arguments.

    The keyword of an option is its name with dots and dashes written as underscores: optimizer_lr for optimizer.lr; the
    name itself works too. A list is joined by commas. Options that may be repeated take a list of texts, or a mapping
    with the same keywords: axis={"lr": [1e-3, 1e-2]}, arm={"slow": {"lr": 1e-4}}. True sets a flag, and None leaves
    the option out. Names that the command does not know are left to the program, which suggests others.
    """
    known = {}
    for option in options_of(command):
        known[_keyword(option.name)] = option
        if option.short:
            known[_keyword(option.short)] = option
    words = []
    seen: dict[str, str] = {}
    for name, value in settings.items():
        found = known.get(_keyword(name))
        if found is not None and seen.setdefault(found.name, name) != name:
            raise OnebitError("an option is given twice", f"{seen[found.name]}, {name}", "give one of them")
        if found is None:
            words += _words_of("--" + name.replace("_", "-"), value is True, False, value)
        else:
            words += _words_of("--" + found.name, found.is_flag, found.kind == "repeated", value)
    return words


def _literal(text: str) -> str:
    """Returns a value from a command line as it is written in Python."""
    try:
        float(text)
    except ValueError:
        return repr(text)
    return text


def _call_of(command: str, words: Sequence[str]) -> str:
    """Returns the Python call that is equivalent to a command line whose options are as command_line() writes them."""
    known = {f"-{name}" if len(name) == 1 else f"--{name}": option for option in options_of(command)
             for name in (option.name, option.short) if name}
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        option = known[word]
        values.setdefault(_keyword(option.name), []).append("True" if option.is_flag else _literal(next(rest)))
    if command == "analyze":
        command = "validate"
    keywords = ", ".join(f"{name}={each[0] if len(each) == 1 else '[' + ', '.join(each) + ']'}"
                         for name, each in values.items() if name not in ("json", "validate"))
    return f"onebit.{command}({keywords})"


_CONTINUE = "onebit: stopped; to continue: onebit "


def in_python(line: str) -> str:
    """Returns a line of the program's messages, with a command or an option in it replaced by its form in Python."""
    if line.startswith(_CONTINUE):
        try:
            command, *words = shlex.split(line[len(_CONTINUE):])
            return f"onebit: stopped; to continue: {_call_of(command, words)}"
        except (KeyError, StopIteration, ValueError):  # the program has another version
            return line
    return line.replace("; -o gives it another name", "; out=... gives it another name")


_PARSE: dict[str, Callable[[str], Value]] = {
    "integer": int,
    "real": float,
    "boolean": lambda text: text == "true",
    "texts": lambda text: text.split(","),
    "integers": lambda text: [int(item) for item in text.split(",")],
}


@functools.lru_cache(maxsize=4)
def _of_run(program: str) -> dict[str, Option]:
    return {option.name: option for option in _table(program)["run"]}


def typed(name: str, text: str) -> Value:
    """Returns the value of an option of a run with the type that the program gives it, or the text itself."""
    option = _of_run(_program.find()).get(name)
    kind = option.kind if option else "text"
    if not text and kind != "text":
        return list[str]() if kind in ("texts", "integers") else None
    try:
        return _PARSE[kind](text) if kind in _PARSE else text
    except ValueError:  # another version of the program wrote it
        return text


def decides_results(name: str) -> bool:
    """Returns whether the setting of a run can change what the run computes."""
    option = _of_run(_program.find()).get(name)
    return option is None or option.decides_results


def short_name(name: str) -> str:
    """Returns the short name of an option of a run; the name itself if it has none."""
    option = _of_run(_program.find()).get(name)
    return option.short if option and option.short else name


@functools.lru_cache(maxsize=4)
def _long_names(program: str) -> dict[str, str]:
    return {_keyword(name): option.name for option in _of_run(program).values() for name in (option.name, option.short)}


def long_name(name: str) -> str:
    """Returns the name of an option of a run from its keyword or its short name; other texts stay as they are."""
    return _long_names(_program.find()).get(_keyword(name), name)
