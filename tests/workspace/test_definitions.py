"""Definitions of source files: from grammars, from patterns, and from files that are made to stop a parser."""

from __future__ import annotations

import re
import time

import pytest

from remit.workspace import definitions
from remit.workspace.definitions import MAX_PARSED, SourceDefinition, find_definitions, parse_definitions
from remit.workspace.files import SourceFile

#: For each language, a file, and the lines of its definitions: name, line, last line.
SOURCES = {
    "cart.py": (
        """\
MAX: int = 3

class Cart:
    limit = 5

    @property
    @cached
    def total(self):
        local = 1
        return local

async def load(): ...
LIMIT = 4
""",
        ["MAX 1-1", "Cart 3-10", "limit 4-4", "total 8-10", "load 12-12", "LIMIT 13-13"],
    ),
    "cart.js": (
        """\
const limit = 3;
export const load = async () => {
  const local = 1, inner = () => 1;
};
class Cart {
  #items = [];
  total(a) {
    return a;
  }
}
Cart.prototype.empty = function () {
};
module.exports = { close: () => 1, open() {} };
function* walk() {}
""",
        [
            *(
                "limit 1-1",
                "load 2-4",
                "inner 3-3",
                "Cart 5-10",
                "items 6-6",
                "total 7-9",
                "empty 11-12",
                "exports 13-13",
            ),
            *("close 13-13", "open 13-13", "walk 14-14"),
        ],
    ),
    "cart.ts": (
        """\
export interface Item { price: number; sum(): void }
type Items = Item[];
enum Color { Red, Green = 2 }
abstract class Cart<T> {
  private items: T[] = [];
  abstract total(): number;
  get size() { return 1; }
}
export default function load(): void {}
namespace Shop {}
""",
        [
            *("Item 1-1", "price 1-1", "sum 1-1", "Items 2-2", "Color 3-3", "Green 3-3", "Cart 4-8", "items 5-5"),
            *("total 6-6", "size 7-7", "load 9-9", "Shop 10-10"),
        ],
    ),
    "cart.tsx": ("export const Cart = () => {\n  return <b>1</b>;\n};\n", ["Cart 1-3"]),
    "cart.vue": ("<template>\n  <b/>\n</template>\n<script setup>\nfunction total() {\n}\n</script>\n", ["total 5-6"]),
    "cart.go": (
        """\
package shop
const Max = 3
var a, b = 1, 2
type Cart struct {
\tItems []int
}
type Summer interface { Sum() int }
func (c *Cart) Total() int {
\tvar local int
\treturn local
}
func Load() {}
type Alias = Cart
""",
        [
            *("Max 2-2", "a 3-3", "b 3-3", "Cart 4-6", "Items 5-5", "Summer 7-7", "Sum 7-7", "Total 8-11"),
            *("Load 12-12", "Alias 13-13"),
        ],
    ),
    "cart.rs": (
        """\
pub struct Cart<T> { items: Vec<T> }
impl<T> Sum for Cart<T> {
    fn total(&self) -> u8 {
        1
    }
}
enum Color { Red }
trait Sum { fn total(&self) -> u8; }
macro_rules! shop { () => {} }
static LIMIT: u8 = 1;
mod tests {}
""",
        [
            *("Cart 1-1", "items 1-1", "Cart 2-6", "total 3-5", "Color 7-7", "Red 7-7", "Sum 8-8", "total 8-8"),
            *("shop 9-9", "LIMIT 10-10", "tests 11-11"),
        ],
    ),
    "Cart.java": (
        """\
public class Cart extends Base {
    private static final int MAX = 3;
    public Cart() {
    }
    @Override
    public int total(int a) {
        int local = 1;
        return local;
    }
    enum Color { RED }
    record Item(int price) {}
    interface Summer { int sum(); }
}
""",
        [
            *("Cart 1-13", "MAX 2-2", "Cart 3-4", "total 6-9", "Color 10-10", "RED 10-10", "Item 11-11"),
            *("Summer 12-12", "sum 12-12"),
        ],
    ),
    "cart.c": (
        """\
#define MAX 3
struct cart {
    int items;
};
typedef struct { int price; } item_t;
static const char *const names[] = { "a" };
static int *
total(struct cart *cart)
{
    int local = 1;
    return local;
}
enum color { RED };
""",
        [
            *("MAX 1-1", "cart 2-4", "items 3-3", "price 5-5", "item_t 5-5", "names 6-6", "total 8-12"),
            *("color 13-13", "RED 13-13"),
        ],
    ),
    "cart.cpp": (
        """\
namespace shop {
class Cart : public Base {
 public:
  int total(int a) const;
  int size() { return 1; }
  int items_ = 3;
};
}
int shop::Cart::total(int a) const {
  return a;
}
template <typename T>
T& first(T& a) {
  return a;
}
using Items = int;
""",
        [
            *("shop 1-8", "Cart 2-7", "total 4-4", "size 5-5", "items_ 6-6", "total 9-11", "first 13-15"),
            "Items 16-16",
        ],
    ),
    "Cart.cs": (
        """\
namespace Shop
{
    public class Cart : Base
    {
        private int items = 1;
        public int Size { get; set; }
        public int Total(int a)
        {
            var local = 1;
            return local;
        }
    }
    enum Color { Red }
}
""",
        ["Shop 1-14", "Cart 3-12", "items 5-5", "Size 6-6", "Total 7-11", "Color 13-13", "Red 13-13"],
    ),
    "cart.rb": (
        """\
module Shop
  class Cart < Base
    MAX = 3
    attr_reader :items, :owner
    def total
      local = 1
    end
    def self.load; end
    def empty?
      true
    end
  end
end
""",
        [
            *("Shop 1-13", "Cart 2-12", "MAX 3-3", "items 4-4", "owner 4-4", "total 5-7", "load 8-8", "empty 9-11"),
        ],
    ),
    "cart.php": (
        """\
<?php
final class Cart
{
    const MAX = 3;
    private array $items = [];
    public function __construct(private int $limit) {}
    public function total(): int
    {
        $local = 1;
        return $local;
    }
}
function load() {}
enum Color { case Red; }
""",
        [
            *("Cart 2-12", "MAX 4-4", "items 5-5", "__construct 6-6", "limit 6-6", "total 7-11", "load 13-13"),
            *("Color 14-14", "Red 14-14"),
        ],
    ),
    "Cart.kt": (
        """\
class Cart(val items: List<Int>) : Base() {
  companion object {
    const val MAX = 3
  }
  fun total(): Int {
    val local = 1
    return local
  }
}
object Shop
fun String.first(): Int = 1
typealias Items = List<Int>
""",
        ["Cart 1-9", "items 1-1", "MAX 3-3", "total 5-8", "Shop 10-10", "first 11-11", "Items 12-12"],
    ),
    "Cart.swift": (
        """\
struct Cart: Summer {
  let limit = 3
  func total(a: Int) -> Money {
    let local = 1
    return local
  }
}
extension Cart { func close() {} }
enum Color { case red, green }
protocol Summer { func sum() }
typealias Items = Int
""",
        [
            *("Cart 1-7", "limit 2-2", "total 3-6", "Cart 8-8", "close 8-8", "Color 9-9", "red 9-9", "green 9-9"),
            *("Summer 10-10", "sum 10-10", "Items 11-11"),
        ],
    ),
}


def source(path: str, text: str) -> SourceFile:
    return SourceFile(path, text.encode())


def all_definitions(file: SourceFile, *, can_parse: bool = True) -> dict[str, list[SourceDefinition]]:
    """Return the definitions of all names of a file."""
    names = {*re.findall(r"[\w$]+", file.text), *re.findall(r"\w+", file.text)}
    return find_definitions(file, names, can_parse=can_parse)


def listed(by_name: dict[str, list[SourceDefinition]]) -> list[str]:
    every = sorted({(one.line, one.name, one.last_line) for named in by_name.values() for one in named})
    return [f"{name} {line}-{last}" for line, name, last in every]


@pytest.mark.parametrize("path", SOURCES)
def test_a_grammar_finds_the_definitions_of_a_file(path: str) -> None:
    text, expected = SOURCES[path]
    found = listed(all_definitions(source(path, text)))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        *((path, "Cart total") for path in SOURCES if path[0] == "C" and path != "Cart.cs"),
        *((path, "Cart total") for path in ("cart.py", "cart.js", "cart.rs", "cart.cpp", "cart.rb", "cart.php")),
        *(("cart.ts", "Cart load"), ("cart.go", "Cart Total"), ("cart.c", "cart MAX"), ("Cart.cs", "Cart Total")),
    ],
)
def test_patterns_find_the_functions_and_types_of_a_file(path: str, names: str) -> None:
    found = all_definitions(source(path, SOURCES[path][0]), can_parse=False)
    assert set(names.split()) <= found.keys()


def test_decorators_belong_to_a_definition() -> None:
    text, _ = SOURCES["cart.py"]
    (total,) = all_definitions(source("cart.py", text))["total"]
    assert (total.first_line, total.line, total.last_line) == (6, 8, 10)


@pytest.mark.parametrize(("path", "owner"), [("cart.go", "(c *Cart)"), ("cart.cpp", "shop Cart"), ("cart.js", "")])
def test_a_definition_knows_its_owner_if_its_head_names_it(path: str, owner: str) -> None:
    name = "Total" if path == "cart.go" else "total"
    named = all_definitions(source(path, SOURCES[path][0]))[name]
    assert named[-1].owner == owner


def test_an_extension_is_not_a_separate_definition() -> None:
    for path in ("cart.rs", "Cart.swift"):
        first, second = all_definitions(source(path, SOURCES[path][0]))["Cart"]
        assert (first.is_extension, second.is_extension) == (False, True)


def test_patterns_find_bodies_by_their_indentation() -> None:
    text = "class Cart:\n    def total(self):\n\n        return 1\n\n    x = 1\n\nend = 1\n"
    found = all_definitions(source("cart.xyz", text))
    assert listed(found) == ["Cart 1-6", "total 2-4"]
    text = "local function total(a)\n{\n  return a\n}\nx = 1\nint\tsize(int a) {\n  if (a) {\n  }\n}\n"
    assert listed(all_definitions(source("cart.xyz", text))) == ["total 1-4", "size 6-9"]


def test_what_is_nested_very_deeply_is_not_searched() -> None:
    text = "f(" * 300 + "function deep() {}" + ")" * 300 + "\nfunction flat() {}\n"
    assert listed(all_definitions(source("a.js", text))) == ["flat 2-2"]


def test_what_a_grammar_cannot_read_is_searched_with_patterns() -> None:
    text = "def total(:\n    pass ) (\n\n!!! class Cart ???\n"
    assert parse_definitions("python", text.encode(), ["Cart"]).has_errors
    assert "Cart" in all_definitions(source("cart.py", text))


def test_a_grammar_that_is_not_installed_leaves_the_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(definitions._GRAMMARS, "python", ("nothing", "language", "py"))
    definitions._parser.cache_clear()
    try:
        assert parse_definitions("python", b"def total(): pass\n", ["total"]).definitions == []
        assert listed(all_definitions(source("cart.py", "def total(): pass\nMAX = 1\n"))) == ["total 1-1"]
    finally:
        definitions._parser.cache_clear()


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    text = "def total(): pass\nMAX = 1\n" + "#" * MAX_PARSED
    assert listed(all_definitions(source("cart.py", text))) == ["total 1-1"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.lua", "{def a b\n" * 100_000),
        ("a.lua", "\n".join("\t" * depth + "def x" for depth in range(2_000))),
        ("a.lua", ("a::" * 300 + "\n") * 2_000),
        ("a.lua", ("a " * 400 + "(,\n") * 2_000),
        ("a.vue", "<script>" * 100 + "</script" * 100),
    ],
)
def test_patterns_take_time_in_proportion_to_a_file(path: str, text: str) -> None:
    started = time.process_time()
    all_definitions(source(path, text))
    assert time.process_time() - started < 10
