"""Helix's languages.toml: a server, and its name in the list of every language."""

from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError
from tomlkit.items import AoT, Array

from paceline.errors import InputError

SERVER = "paceline"


def added(text: str, source: str, command: str, languages: Sequence[str]) -> tuple[str, list[str]]:
    """The text with the source's server and languages added; and what stays as it is. Comments and order are kept.

    A language that has a list of servers gets one more; other languages get the source's list. `languages`: only these;
    empty: all of the source's. Raises InputError where the text is not understood.
    """
    wanted = tomlkit.parse(source).unwrap()
    try:
        document = tomlkit.parse(text)
    except ParseError as error:
        raise InputError(f"it is not valid TOML: {error}", "mend the line it names") from error
    kept = _server(document, {**wanted["language-server"][SERVER], "command": command})
    entries = document.get("language")
    if entries is None:
        entries = tomlkit.aot()
        document["language"] = entries
    if not isinstance(entries, AoT):
        raise InputError("its languages are not written as [[language]]", "add the configuration by hand")
    lists = {each["name"]: each["language-servers"] for each in wanted["language"]}
    for name in languages or lists:
        kept += _language(entries, name, lists.get(name, [SERVER]))
    return tomlkit.dumps(document), kept


def _server(document: Any, wanted: dict[str, Any]) -> list[str]:  # noqa: ANN401 - tomlkit's document
    servers = document.get("language-server")
    if servers is None:
        servers = tomlkit.table(is_super_table=True)
        document["language-server"] = servers
    if SERVER in servers:
        there = servers[SERVER].unwrap()
        return [f"language-server.{SERVER}"] if there.get("command") != wanted["command"] else []
    table = tomlkit.table()
    for key, value in wanted.items():
        table[key] = value
    table.add(tomlkit.nl())
    servers[SERVER] = table
    return []


def _language(entries: AoT, name: str, servers: Sequence[str]) -> list[str]:
    for entry in entries:
        if entry.get("name") != name:
            continue
        there = entry.get("language-servers")
        if there is None:
            entry["language-servers"] = list(servers)
        elif not isinstance(there, Array):
            return [f"language-servers of {name}"]
        elif not any(each == SERVER or (isinstance(each, dict) and each.get("name") == SERVER) for each in there):
            there.append(SERVER)
        return []
    table = tomlkit.table()
    table["name"] = name
    table["language-servers"] = list(servers)
    entries.append(table)
    return []
