"""Find the definitions of a source file: with tree-sitter grammars, and with patterns where there is no grammar."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from remit.lazy import lazy_pattern
from remit.workspace.file_index import ending_of
from remit.workspace.files import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: Larger files are not parsed: patterns are used.
MAX_PARSED = 1024 * 1024
_MAX_DEFINITIONS = 20_000
_MAX_LINE = 1_000
#: Up to this many names are searched for one by one.
_FEW = 20

SEPARATOR = lazy_pattern(r"\.|::|#|->|\\")
_WORD = lazy_pattern(r"[\w$]+")
_BYTES = re.compile(rb"[\w$\x80-\xff]+")
_DEFINED = lazy_pattern(
    r"(?:\b(?:def|defp|defmodule|defmacro|class|function\*?|func|fn|fun|interface|type|struct|enum|trait|protocol|const|"
    r"let|var|val|module|namespace|object|record|sub|proc|typealias|macro_rules!|CREATE\s+(?:TABLE|FUNCTION|VIEW))|"
    r"#\s?define)\s+(?:\([^)\n]{0,80}\)\s*)?(?:\w{1,80}\.){0,5}([\w$]+)"
)
#: A line that cannot be anything else: `export async function total(`, `class Cart:`, `fn total<T>(`.
_PLAINLY_DEFINED = lazy_pattern(
    r"\s{0,80}(?:(?:abstract|async|data|declare|default|export|final|internal|open|override|private|protected|pub|public|"
    r"sealed|static)\s{1,8}){0,6}(?:class|def|enum|fn|fun|func|function|interface|struct|trait)\s{1,8}([\w$]{1,200})\s?[(<:{]"
)
#: A method without a keyword: `public int total(Cart cart) {`, `async total() {`, `void Cart::total()`.
_METHOD = lazy_pattern(
    r"\s*+(?P<type>(?:[\w<>\[\],.?&*:@~$]++\s++){0,6}?)[*&]{0,2}(?:\w{1,80}::){0,5}~?([A-Za-z_$][\w$]{0,200})\s?\("
)
_COMMENTS = ("//", "*", "/*", "# ", "--")
#: Words before a bracket that is not the start of a method, or before a call.
_NOT_METHODS = frozenset(
    """
    if for while switch catch return else elif unless foreach with when match await new throw yield case not in and or
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: What is not code in a component of Vue or Svelte.
_OUTSIDE_SCRIPT = lazy_pattern(r"(?s)(?:\A|</script>)(?>(?:(?!<script\b).)*)(?:<script\b[^>]*+>|\Z)")


class SourceDefinition(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A definition: the line of its name, its first and its last line, and its owner, if the source names one."""

    name: str
    line: int
    first_line: int
    last_line: int
    owner: str = ""
    #: Whether it adds to something that is defined elsewhere: `impl Cart`, `extension Cart`.
    is_extension: bool = False


class Parsed(msgspec.Struct, frozen=True, array_like=True):
    """The definitions of a source text, and whether parts of it could not be parsed."""

    definitions: list[SourceDefinition]
    has_errors: bool


#: The grammars: their modules, the function that returns the language, and the endings of files.
_GRAMMARS = {
    "python": ("python", "language", "py pyi pyw"),
    "javascript": ("javascript", "language", "js mjs cjs jsx"),
    "typescript": ("typescript", "language_typescript", "ts mts cts vue svelte"),
    "tsx": ("typescript", "language_tsx", "tsx"),
    "go": ("go", "language", "go"),
    "rust": ("rust", "language", "rs"),
    "java": ("java", "language", "java"),
    "c": ("c", "language", "c"),
    "cpp": ("cpp", "language", "cc cpp cxx h hh hpp hxx inl ipp tpp cu cuh"),
    "c_sharp": ("c_sharp", "language", "cs"),
    "ruby": ("ruby", "language", "rb rake gemspec"),
    "php": ("php", "language_php", "php phtml"),
    "kotlin": ("kotlin", "language", "kt kts"),
    "swift": ("swift", "language", "swift"),
}
_LANGUAGES = {ending: language for language, (_, _, endings) in _GRAMMARS.items() for ending in endings.split()}
#: The nodes that define a function. Variables inside of them are not definitions.
_FUNCTIONS = frozenset(
    """
    arrow_function compact_constructor_declaration constructor_declaration func_literal function_declaration
    function_definition function_expression function_item generator_function generator_function_declaration
    init_declaration lambda_literal local_function_statement method method_declaration method_definition
    secondary_constructor singleton_method
    """.split()  # noqa: SIM905 (a column of words reads better than a list of strings)
)
#: Other nodes that define a name, in any of the grammars.
_OTHERS = frozenset(
    """
    abstract_class_declaration abstract_method_signature alias alias_declaration annotation_type_declaration
    annotation_type_element_declaration associated_type associatedtype_declaration class class_declaration
    class_definition class_parameter class_specifier companion_object concept_definition const_element const_item
    const_spec constant_declaration delegate_declaration enum_assignment enum_case enum_constant enum_declaration
    enum_entry enum_item enum_member_declaration enum_specifier enum_variant enumerator event_declaration
    event_field_declaration field_declaration field_definition function_signature function_signature_item impl_item
    interface_declaration internal_module macro_definition method_elem method_signature mod_item module
    namespace_declaration namespace_definition object_declaration preproc_def preproc_function_def property_element
    property_promotion_parameter property_signature protocol_declaration protocol_function_declaration
    protocol_property_declaration public_field_definition record_declaration static_item struct_declaration struct_item
    struct_specifier trait_declaration trait_item type_alias type_alias_declaration type_definition type_item type_spec
    typealias_declaration union_item union_specifier
    """.split()  # noqa: SIM905 (as above)
)
#: Nodes that define a name outside of functions, or if the value is a function.
_VARIABLES = frozenset(
    (
        "assignment",
        "assignment_expression",
        "declaration",
        "pair",
        "property_declaration",
        "var_spec",
        "variable_declarator",
    )
)
_DEFINING = _FUNCTIONS | _OTHERS | _VARIABLES
#: Types of C that are only named without a body: `struct cart *cart`.
_WITH_BODY = frozenset(("class_specifier", "enum_specifier", "struct_specifier", "union_specifier"))
_FUNCTION_VALUES = frozenset(("arrow_function", "class", "function_expression", "generator_function"))
#: The fields of a node that hold its name, and the children that do so if there is no such field.
_NAME_FIELDS = ("name", "declarator", "left", "key", "property")
_NAMED_BY_TYPE = frozenset(("impl_item", "type_alias"))
_NAME_CHILDREN = ("variable_declaration", "variable_declarator", "identifier", "name")
#: Methods of Ruby that define what their arguments name.
_DEFINES_ARGUMENTS = (b"attr_accessor", b"attr_reader", b"attr_writer", b"alias_method", b"define_method", b"scope")
_WRAPPERS = frozenset(("decorated_definition", "export_statement", "template_declaration"))
#: Deeper nodes are not visited.
_MAX_DEPTH = 400
_MAX_CHILDREN = 200


def find_definitions(
    file: SourceFile, names: Collection[str], *, can_parse: bool = True
) -> dict[str, list[SourceDefinition]]:
    """Return where a file defines some names. Without `can_parse`, patterns are used for all files."""
    language = _LANGUAGES.get(ending_of(file.path))
    parsed: Parsed | None = None
    if language is not None and can_parse and len(file.text) <= MAX_PARSED:
        is_component = ending_of(file.path) in ("vue", "svelte")
        text = _OUTSIDE_SCRIPT.sub(lambda match: "\n" * match[0].count("\n"), file.text) if is_component else file.text
        parsed = parse_definitions(language, text.encode("utf-8", "replace"), names)
    by_name: dict[str, list[SourceDefinition]] = {}
    for definition in parsed.definitions if parsed is not None else ():
        by_name.setdefault(definition.name, []).append(definition)
    if parsed is None or parsed.has_errors:
        known = frozenset(by_name)
        for definition in _patterned(file):
            if definition.name in names and definition.name not in known:
                by_name.setdefault(definition.name, []).append(definition)
    return by_name


def parse_definitions(language: str, data: bytes, names: Collection[str]) -> Parsed:
    """Return where a source text defines some names."""
    parser = _parser(language)
    if parser is None:
        return Parsed([], has_errors=True)
    root = parser.parse(data).root_node
    definitions: list[SourceDefinition] = []
    for node, parent, is_local in _walk(root, _occurrences(data, names)):
        kind = node.type
        if kind in _DEFINING and (kind not in _VARIABLES or not is_local or _has_function_value(node)):
            nodes = _name_nodes(node)
        elif kind == "call" and language == "ruby":
            nodes = _defined_arguments(node, data)
        else:
            continue
        around = parent if parent is not None and parent.type in _WRAPPERS else node
        named = (_definition(node, around, name, data) for name in nodes)
        definitions += (definition for definition in named if definition is not None and definition.name in names)
        if len(definitions) > _MAX_DEFINITIONS:
            break
    return Parsed(definitions, root.has_error)


def _occurrences(data: bytes, names: Collection[str]) -> list[int]:
    """Return where names may occur in a text, in order."""
    wanted = {name.encode("utf-8", "replace") for name in names if name}
    if len(wanted) > _FEW:
        words = _BYTES.finditer(data)
        return [word.start() for word in words if word[0] in wanted or word[0].lstrip(b"$") in wanted]
    positions: set[int] = set()
    for name in wanted:
        position = data.find(name)
        while position >= 0:
            positions.add(position)
            position = data.find(name, position + len(name))
    return sorted(positions)


def _walk(root: Node, positions: list[int]) -> Iterator[tuple[Node, Node | None, bool]]:
    """Yield each named node around one of the positions with its parent, and whether it is inside of a function."""
    cursor = root.walk()
    path: list[Node] = []
    functions: list[int] = []
    while (node := cursor.node) is not None:
        depth = len(path)
        while functions and functions[-1] >= depth:
            functions.pop()
        following = bisect_left(positions, node.start_byte)
        if following < len(positions) and positions[following] < node.end_byte:
            if node.is_named:
                yield node, path[-1] if path else None, bool(functions)
                if node.type in _FUNCTIONS:
                    functions.append(depth)
            if depth < _MAX_DEPTH and cursor.goto_first_child():
                path.append(node)
                continue
        while not cursor.goto_next_sibling():
            if not path:
                return
            cursor.goto_parent()
            path.pop()


def _has_function_value(node: Node) -> bool:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return value is not None and value.type in _FUNCTION_VALUES


def _name_nodes(node: Node) -> list[Node]:
    """Return the nodes of the names that a node defines: `const a = 1, b = 2` has two."""
    if node.type in _WITH_BODY and node.child_by_field_name("body") is None:
        return []
    for field in ("name", "type") if node.type in _NAMED_BY_TYPE else _NAME_FIELDS:
        named = node.children_by_field_name(field)
        if named:
            # In the grammar of Swift, the type of a result has the field `name`, too.
            return [_innermost(name) for name in named if name.type == named[0].type or field == "declarator"]
    children = node.named_children[:_MAX_CHILDREN]
    for kind in _NAME_CHILDREN:
        if named := [child for child in children if child.type == kind]:
            return [name for child in named for name in (_name_nodes(child) or [child])]
    return []


def _innermost(node: Node) -> Node:
    """Return the name inside of declarators: `total` of `*total(int a)`."""
    while node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator") or node.child_by_field_name("name") or node.named_child(0)
        if inner is None:
            return node
        node = inner
    return node


def _defined_arguments(node: Node, data: bytes) -> list[Node]:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or data[method.start_byte : method.end_byte] not in _DEFINES_ARGUMENTS:
        return []
    return [argument for argument in arguments.named_children[:_MAX_CHILDREN] if argument.type == "simple_symbol"]


def _definition(node: Node, around: Node, name: Node, data: bytes) -> SourceDefinition | None:
    written = data[name.start_byte : name.end_byte][-_MAX_LINE:].decode("utf-8", "replace")
    *owners, short = SEPARATOR.split(written)
    word = _WORD.search(short)
    if word is None:
        return None
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        owners.append(data[receiver.start_byte : receiver.end_byte][:_MAX_LINE].decode("utf-8", "replace"))
    return SourceDefinition(
        word[0].lstrip("$") or word[0],
        name.end_point[0] + 1,
        around.start_point[0] + 1,
        # A line of the preprocessor ends at the start of the next one.
        max(around.start_point[0], around.end_point[0] - (around.end_point[1] == 0)) + 1,
        " ".join(owners),
        name.type == "user_type" or node.type == "impl_item",
    )


@cache
def _parser(language: str) -> Parser | None:
    """Load a grammar; None if it is not installed, or of another version."""
    module, function, _ = _GRAMMARS[language]
    try:
        from tree_sitter import Language, Parser  # late: most documents need no definition

        return Parser(Language(getattr(import_module(f"tree_sitter_{module}"), function)()))
    except (ImportError, AttributeError, ValueError):
        return None


def _patterned(file: SourceFile) -> Iterator[SourceDefinition]:
    """Yield the definitions that patterns find. A body ends before the next line that is not indented further."""
    still_open: list[tuple[int, int, list[str]]] = []
    left = _MAX_DEFINITIONS
    previous = 0
    for number, text in enumerate(file.lines, 1):
        bare = text.strip()
        if not bare:
            continue
        depth = len(text) - len(text.lstrip())
        while still_open and depth <= still_open[-1][1] and not _continues(bare, depth, still_open[-1][1]):
            line, outer, names = still_open.pop()
            last = number if depth == outer and bare[0] in ")]}" else previous
            yield from (SourceDefinition(name.lstrip("$"), line, line, last) for name in names)
        names = [] if bare.startswith(_COMMENTS) else _names_defined(text[:_MAX_LINE])[:left]
        left -= len(names)
        if names:
            still_open.append((number, depth, names))
        previous = number
    for line, _, names in still_open:
        yield from (SourceDefinition(name.lstrip("$"), line, line, previous) for name in names)


def defined_name(line: str) -> str:
    """Return the name that a line plainly defines, as a function or a type; empty if it does not, or may not."""
    match = _PLAINLY_DEFINED.match(line[:_MAX_LINE])
    return match[1] if match else ""


def _names_defined(line: str) -> list[str]:
    names: list[str] = _DEFINED.findall(line)
    end = line.rstrip()[-1:]
    if names or end not in ("{", ")", ",", "("):
        return names
    method = _METHOD.match(line)
    if method is None or not _NOT_METHODS.isdisjoint((method[2], *method["type"].split())):
        return []
    return [method[2]] if method["type"] or end == "{" else []


def _continues(bare: str, depth: int, outer: int) -> bool:
    """Return whether a line that is not indented further belongs to the body: `{`, `} else {`, `):`."""
    return depth == outer and (bare[0] == "{" or (bare[0] in ")]}" and bare.endswith(("{", ":", "->"))))
