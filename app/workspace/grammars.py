"""Outlines of the languages that tree-sitter reads. A grammar is loaded when a file needs it."""

import re
import time
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from paceline.workspace.outline import Definition, Outline, one_line

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# languageId: the grammar's module, and the function there that gives it
GRAMMARS = {
    "javascript": ("tree_sitter_javascript", "language"),
    "javascriptreact": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "typescriptreact": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}
WHOLE = 600  # characters of a type whose text is its own signature
SECONDS = 0.3  # that one file may take to be parsed
PIECE = 4096  # bytes that are given to a parser at once
NESTED = 60  # levels of brackets
_BRACKET = re.compile(r"[<>(){}\[\];]")
DEEPEST = 4  # levels of definitions within what only groups them
_HEADS = {  # what is shown up to its body
    *("function_declaration", "generator_function_declaration", "function_signature", "method_definition"),
    *("abstract_method_signature", "method_declaration", "constructor_declaration", "function_item"),
    *("function_signature_item", "function_definition", "macro_definition"),
}
_HOLDERS = {  # what has members
    *("class_declaration", "abstract_class_declaration", "class", "interface_declaration", "enum_declaration"),
    *("record_declaration", "annotation_type_declaration", "trait_item", "impl_item", "class_specifier"),
}
_TYPES = {  # what is shown whole
    *("type_alias_declaration", "type_declaration", "struct_item", "enum_item", "union_item", "type_item"),
    *(
        "struct_specifier",
        "enum_specifier",
        "union_specifier",
        "type_definition",
        "alias_declaration",
        "concept_definition",
    ),
}
_WHOLE_IN = {("typescript", "interface_declaration"), ("typescript", "enum_declaration"), ("java", "enum_declaration")}
_FIELDS = {
    "field_definition",
    "public_field_definition",
    "field_declaration",
    "const_item",
    "static_item",
    "declaration",
}
_GROUPS = {  # what only has definitions in it
    *("export_statement", "namespace_definition", "internal_module", "module", "mod_item", "ambient_declaration"),
    *(
        "linkage_specification",
        "template_declaration",
        "declaration_list",
        "preproc_ifdef",
        "preproc_if",
        "statement_block",
    ),
    *("expression_statement", "preproc_else"),
}
_VARIABLES = {"lexical_declaration", "variable_declaration"}
_NAMED = ("name", "declarator", "type")
_IDENTIFIERS = {"identifier", "type_identifier", "field_identifier", "property_identifier", "destructor_name"}


def parsed(language: str, text: str) -> Outline | None:
    """What a text defines; None for a language without a grammar."""
    parser = _parser(language)
    if parser is None:
        return None
    if _is_deep(text):
        return None
    source, late = text.encode("utf-8", errors="replace"), time.monotonic() + SECONDS
    tree = _tree(parser, source, late)
    if tree is None:
        return None
    return tuple(_definitions(tree.root_node, source, language.removesuffix("react"), late))


def _tree(parser: "Parser", source: bytes, late: float) -> "Tree | None":
    """What the parser makes of it; None where that takes too long. Nothing else in Python runs meanwhile."""

    def stop(offset: int, failed: bool) -> bool:
        return time.monotonic() > late

    try:  # it asks only where it is given the text piece by piece
        return parser.parse(lambda at, _: source[at : at + PIECE], progress_callback=stop)
    except ValueError:
        parser.reset()
        return None


def _is_deep(text: str) -> bool:
    """Whether brackets are nested so deep that no person wrote them. Grammars that guess at what "<" means take more
    memory and time with every level.
    """
    depth = angles = 0
    for found in _BRACKET.finditer(text):
        mark = found[0]
        if mark == "<":
            angles += 1
        elif mark == ">":
            angles = max(0, angles - 1)
        elif mark in ";{}":
            angles = 0
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)
        if max(depth, angles) > NESTED:
            return True
    return False


@lru_cache(maxsize=8)
def _parser(language: str) -> "Parser | None":
    if language not in GRAMMARS:
        return None
    module, function = GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser

        return Parser(Language(getattr(import_module(module), function)()))
    except (ImportError, AttributeError, ValueError):  # not there, or of another version than tree-sitter
        return None


def _definitions(node: "Node", source: bytes, family: str, late: float, depth: int = 0) -> Iterator[Definition]:
    for child in node.named_children:
        if time.monotonic() > late:
            return
        if child.type in _GROUPS and depth < DEEPEST:
            yield from _definitions(child, source, family, late, depth + 1)
        else:
            yield from _defined(child, source, family)


def _defined(node: "Node", source: bytes, family: str, *, member: bool = False) -> Iterator[Definition]:
    """What one piece of syntax defines: nothing, mostly."""
    about = "" if member else _about(node, source)
    if node.type in _TYPES or (family, node.type) in _WHOLE_IN:
        if (text := _whole(node, source)) and (name := _name(node, source)):
            yield Definition(name, text, about)
    elif node.type in _HOLDERS:
        body = node.child_by_field_name("body")
        members = [each for child in (body.named_children if body else ()) for each in _members(child, source, family)]
        if name := _name(node, source):
            yield Definition(name, one_line(_until(node, body, source)), about, tuple(members), " {", "}")
    elif node.type in _HEADS:
        body = node.child_by_field_name("body")
        if name := _name(node, source):
            yield Definition(name, one_line(_until(node, body, source)).removesuffix("=>").rstrip(" {;") + ";", about)
    elif node.type in _VARIABLES:
        yield from _variables(node, source, about)
    elif node.type in _FIELDS and (name := _name(node, source)):
        head = one_line(_until(node, node.child_by_field_name("value"), source)).rstrip(" =;") + ";"
        yield Definition(name, head, about, minor=node.type != "declaration")


def _members(node: "Node", source: bytes, family: str) -> Iterator[Definition]:
    if node.type == "enum_body_declarations":
        for child in node.named_children:
            yield from _defined(child, source, family, member=True)
    else:
        yield from _defined(node, source, family, member=True)


def _variables(node: "Node", source: bytes, about: str) -> Iterator[Definition]:
    """Functions that a name is given, and constants."""
    for one in node.named_children:
        name = one.child_by_field_name("name")
        value = one.child_by_field_name("value")
        if name is None or value is None or name.type != "identifier":
            continue
        body = value.child_by_field_name("body") if "function" in value.type else None
        word = _text(node.children[0], source)  # const, let or var
        text = one_line(f"{word} {_until(one, body, source)}")
        if body or len(text) <= 100:
            head = text.removesuffix("=>").rstrip(" {;") + ";"
            yield Definition(_text(name, source), head, about, minor=body is None)


def _name(node: "Node", source: bytes) -> str:
    """The name that a definition gives; "" where it has none."""
    for _ in range(8):
        if node.type in _IDENTIFIERS:
            return _text(node, source)
        below = next((found for field in _NAMED if (found := node.child_by_field_name(field)) is not None), None)
        if below is None:
            below = next(
                (each for each in node.named_children if each.type in _IDENTIFIERS or each.type == "type_spec"), None
            )
        if below is None:
            return ""
        node = below
    return ""


def _until(node: "Node", body: "Node | None", source: bytes) -> str:
    """A definition's text up to its body."""
    return source[node.start_byte : body.start_byte if body else node.end_byte].decode("utf-8", errors="replace")


def _text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", errors="replace")


def _whole(node: "Node", source: bytes) -> str:
    text = _text(node, source)
    if len(text) > WHOLE:
        body = node.child_by_field_name("body")
        text = one_line(_until(node, body, source)) + " { … }" if body else one_line(text)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _about(node: "Node", source: bytes) -> str:
    """The first line of the comment right above."""
    top: Node = node
    above = node.prev_named_sibling
    if above is None and node.parent is not None and node.parent.type == "export_statement":
        top, above = node.parent, node.parent.prev_named_sibling
    while above is not None and above.type == "attribute_item":
        top, above = above, above.prev_named_sibling
    found = ""
    while above is not None and "comment" in above.type and top.start_point[0] - above.end_point[0] <= 1:
        found, top, above = _text(above, source), above, above.prev_named_sibling
    words = next((line.strip(" \t/*!") for line in found.split("\n") if line.strip(" \t/*!")), "")
    return f"// {words}" if words and len(words) <= 120 else ""
