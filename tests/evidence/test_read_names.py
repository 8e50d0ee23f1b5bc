"""Names next to places: which name belongs to a place, and which words are not names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.evidence.document import Segment
from remit.evidence.read_names import NameMention, name_beside, name_of_row

#: A line with the place in «», the name, and how it is written: c = as code, p = a plain word, d = it is defined there.
BESIDE = [
    ("`total()` in `«shop/cart.py:34»` (login)", "total", "c"),
    ("`total()` in `«shop/cart.py:34»` (`login`)", "login", "c"),
    ("`get_load_dotenv()` in `«src/flask/helpers.py:128»`", "get_load_dotenv", "c"),
    ("`Cart.total(self)` — `«shop/cart.py:34»`", "Cart.total", "c"),
    ("«shop/cart.py:34» (total)", "total", "p"),
    ("`«shop/cart.py:34»` (`total`)", "total", "c"),
    ("`«shop/cart.py:34»` - `total()`", "total", "c"),
    ("«shop/cart.py:34»: total()", "total", "c"),
    ("class Cart is defined in «shop/cart.py:12»", "Cart", "d"),
    ("the `total` method at «shop/cart.py:34»", "total", "c"),
    ("«[total()](shop/cart.py#L34)»", "total", "c"),
    ("«[`total`](shop/cart.py#L34)»", "total", "c"),
    ("[`total`](«shop/cart.py#L34»)", "total", "c"),
    ("[add_item](«shop/cart.py#L34»)", "add_item", ""),
    ("`total()` in [shop/cart.py:34](«shop/cart.py#L34»)", "total", "c"),
    ("«[shop/cart.py:34](shop/cart.py#L34)» (`total`)", "total", "c"),
    ("«shop/cart.py:34» → total()", "total", "c"),
    ("`«shop/cart.py:34»` 的 `total()`", "total", "c"),
    ("`total()`（`«shop/cart.py:34»`）", "total", "c"),
    ("`«shop/cart.py:34»` の `total()`", "total", "c"),
    ("`total()` は `«shop/cart.py:34»` にある", "total", "c"),
    ("`total` 在 `«shop/cart.py:34»`", "total", "c"),
    ("`«shop/cart.py:34»`（`total`）", "total", "c"),
    ("`«shop/cart.py:34»`（total）", "total", "p"),
    ("«shop/cart.py:34» (`total`, `add`)", "total", "c"),
    ("«shop/cart.py:34» (function `total`)", "total", "cd"),
    ("«shop/cart.py:34» (in `total()`)", "total", "c"),
    ("«shop/cart.py:34» (def total)", "total", "pd"),
    ("«shop/cart.py:34» (class Cart)", "Cart", "pd"),
    ("«shop/cart.py:34» (add_item)", "add_item", ""),
    ("«shop/cart.py:34» (addItem)", "addItem", ""),
    ("«shop/cart.py:34» (Cart.total)", "Cart.total", ""),
    ("«shop/cart.py:34» (total())", "total", "c"),
    ("«shop/cart.py:34» (total(self, x))", "total", "c"),
    ('File "«shop/cart.py", line 34», in add_item', "add_item", ""),
    ("«shop/cart.py:34» in `total()`", "total", "c"),
    ("«shop/cart.py:34» defines `total()`", "total", "cd"),
    ("«shop/cart.py:34» calls `total()`", "total", "c"),
    ("X is called by `total()` («shop/cart.py:34»)", "total", "c"),
    ("«shop/cart.py:34»: `MAX_SIZE`", "MAX_SIZE", "c"),
    ("«shop/cart.py:34»: `LIMIT`", "LIMIT", "p"),
    ("`def total(self)` at «shop/cart.py:34»", "total", "cd"),
    ("`class Cart(Base):` at «shop/cart.py:34»", "Cart", "cd"),
    ("`func (c *Cart) Total() int` in «shop/cart.go:34»", "Total", "cd"),
    ("`public static int total(int x)` in «shop/Cart.java:34»", "total", "cd"),
    ("`const total = () =>` in «shop/cart.ts:34»", "total", "cd"),
    ("The function `total` in `«shop/cart.py:34»` reads", "total", "cd"),
    ("It calls the function `total` in `«shop/cart.py:34»`.", "total", "c"),
    ("function login is defined in «shop/cart.py:34»", "login", "d"),
    ("struct Cart in «shop/cart.rs:34»", "Cart", "d"),
    ("`total` (defined in «shop/cart.py:34»)", "total", "cd"),
    ("`total`, defined at «shop/cart.py:34»", "total", "cd"),
    ("`total` is declared in «shop/cart.py:34»", "total", "cd"),
    ("`total`: «shop/cart.py:34»", "total", "c"),
    ("`total` @ «shop/cart.py:34»", "total", "c"),
    ("- **`total`** — `«shop/cart.py:34»`", "total", "c"),
    ("- **`total()`** (`«shop/cart.py:34»`): adds", "total", "c"),
    ("- add_item in «shop/cart.py:34»", "add_item", ""),
    ("JWTMiddleware in «shop/cart.py:34»", "JWTMiddleware", ""),
    ("GitHub in «shop/cart.py:34»", "GitHub", "p"),
    ("class CartService in «shop/cart.py:34»", "CartService", "d"),
    ("Everything begins with total() at «shop/cart.py:34».", "total", "c"),
    ("- `«shop/cart.py:34»` `total`", "total", "c"),
    ("1. Read the value → `«shop/cart.py:34»` (add_item)", "add_item", ""),
    ("It ends in `total` of `«shop/cart.py:34»`.", "total", "c"),
    ("The value is read twice by `total` (`«shop/cart.py:34»`).", "total", "c"),
    ("- `foo()` at «a/a.py:10» - `bar()` at a/a.py:20", "foo", "c"),
    ("- `foo()` at a/a.py:10 - `bar()` at «a/a.py:20»", "bar", "c"),
    ("a/a.py:1: `f1()` — «b/b.py:2»: `g1()`", "g1", "c"),
    ("«a/a.py:1»: `f1()` — b/b.py:2: `g1()`", "f1", "c"),
    ("`f1()` («a/a.py:1»), `g1()` (b/b.py:2)", "f1", "c"),
    ("`f1()` (a/a.py:1), `g1()` («b/b.py:2»)", "g1", "c"),
    ("`f1()` (a/a.py:1) → `g1()` («b/b.py:2»)", "g1", "c"),
    ("`old()` → `new1()` («b/b.py:2»)", "new1|old", "c"),
    ("`shop.cart` («shop/cart.py:1»)", "shop.cart", "p"),
    ("`Cart` in `«src/Cart.java:30»`", "Cart", "p"),
    ("`vec!` in «src/a.rs:3»", "vec", "c"),
    ("`valid?` in «a/b.rb:3»", "valid", "c"),
    ("`@app.route` at «a/b.py:3»", "app.route", "c"),
    ("`List<Cart>` at «a/B.java:3»", "List", "c"),
    ("`foo(bar(1), x)` at «a/b.py:3»", "foo", "c"),
    ("`$total` in «a/b.php:3»", "$total", "c"),
    ("`Cart::total` in «a/b.cpp:3»", "Cart::total", "c"),
    ("`Cart#total` in «a/b.rb:3»", "Cart#total", "c"),
    ("`cart->total` in «a/b.c:3»", "cart->total", "c"),
    ("Cart::total() in «a/b.cpp:3»", "Cart::total", "c"),
    ("«shop/cart.py:34» — the `total` method", "total", "c"),
    ("`«shop/cart.py:34»` is `total()`", "total", "c"),
    ("Renamed `a1` to `b1` in «shop/cart.py:34»", "b1", "c"),
    ("the call to `total()` at «shop/cart.py:34»", "total", "c"),
    ("`total` in `«shop/cart.py` (line 34)»", "total", "c"),
    ("`total` (lines 3-9 of «shop/cart.py:3»)", "total", "c"),
    ("`total` method of class Cart («shop/cart.py:34»)", "Cart", ""),
    ("«shop/cart.py:34» (`total` helper)", "total", "c"),
    ("«shop/cart.py:34» [total]", "total", "p"),
    ("«shop/cart.py:34» (getUserById, line 3)", "getUserById", ""),
    ("«shop/cart.py:34» `total` → `sum`", "total", "c"),
    ("«shop/cart.py:34» – `Cart`", "Cart", "c"),
    ("«shop/cart.py:34»: `HIGH`", "HIGH", "p"),
    ("«shop/cart.py:34» (`_total`)", "_total", "c"),
    ("«shop/cart.py:34» (_total_of)", "_total_of", ""),
    ("`get()` in «shop/cart.py:34»", "get", "c"),
    ("«shop/cart.py:34» exports `total`", "total", "c"),
]
ALONE = [
    "a/a.py:1: `f1()` — «b/b.py:2»",
    "a_b in «shop/cart.py:34»",
    "«tests/test_app.py:5»: undefined_name: bad",
    "«[total](shop/cart.py#L34)»",
    "«shop/cart.py:34» (see below)",
    "«shop/cart.py:34» (line 12)",
    "«shop/cart.py:34» (Cart.java)",
    "«shop/cart.py:34» (new)",
    "«shop/cart.py:34» (12)",
    "«shop/cart.py:34» and (login)",
    "«shop/cart.py:34», (login)",
    "«shop/cart.py:34» called by `total()`",
    "«shop/cart.py:34» (called by `total()`)",
    "«shop/cart.py:34», called by `total()`",
    "Add a `drain()` in «shop/cart.py:34»",
    "There is no `open()` in «shop/cart.py:34»",
    "Use it instead of `open()` in «shop/cart.py:34»",
    "Replace it with `open()` in «shop/cart.py:34»",
    "«shop/cart.py:34» → should be `zip()`",
    "«shop/cart.py:34»: `zip()` should be called",
    "«shop/cart.py:34»: `zip()` is missing",
    "«shop/cart.py:34»: `x == 1` is wrong",
    "«shop/cart.py:34»: `true`",
    "«shop/cart.py:34»: `None`",
    "«shop/cart.py:34»: `404`",
    "«shop/cart.py:34»: `--force`",
    "«shop/cart.py:34»: `npm run build`",
    "«shop/cart.py:34»: `src/app.py`",
    "«shop/cart.py:34»: `app.py`",
    '«shop/cart.py:34»: `"text"`',
    "«shop/cart.py:34»: `E501`",
    "**shop.elf** («shop/cart.c:34»)",
    "`shop.exe` in «shop/cart.c:34»",
    "«shop/cart.py:34»: error: bad",
    "«tests/test_app.py:5»: AssertionError",
    "«tests/test_app.py:5»: TypeError: bad",
    "The function body at «shop/cart.py:34» is long",
    "The class diagram in «docs/x.md:3»",
    "- {add_item} in «shop/cart.py:34»",
    "- `«shop/cart.py:34»` total",
    "see `config.yaml` in «shop/cart.py:34»",
    "`open(b) + load(d)` at «a/b.py:3»",
    "`items[0]` at «a/b.py:3»",
    "The bug is in the login handler («a/b.py:3»)",
    "«shop/cart.py:34» — adds `total`",
    "«shop/cart.py:34 total()»",
    "«shop/cart.py:34» (used in `total`)",
    "«shop/cart.py:34»#total",
    '"total" in «shop/cart.py:34»',
    "«client/preload.js:85» (onMenu*)",
    "`total_cents` / `_euros` in «shop/cart.py:34»",
    "`GET` in «shop/cart.py:34»",
]


def read(marked: str) -> NameMention | None:
    start, end = marked.index("«"), marked.index("»") - 1
    return name_beside(marked.replace("«", "").replace("»", ""), start, end)


def shown(mention: NameMention) -> str:
    flags = (("c", mention.is_code), ("p", mention.is_plain), ("d", mention.is_defined))
    return "".join(flag for flag, is_set in flags if is_set)


@pytest.mark.parametrize(("line", "name", "flags"), BESIDE)
def test_a_name_next_to_a_place_belongs_to_it(line: str, name: str, flags: str) -> None:
    mention = read(line)
    assert mention is not None
    assert (mention.name, shown(mention)) == (name, flags)


@pytest.mark.parametrize("line", ALONE)
def test_other_words_next_to_a_place_are_not_names_of_it(line: str) -> None:
    assert read(line) is None


def test_the_path_of_a_line_whose_file_is_named_elsewhere_shows_that_a_name_is_its_module() -> None:
    text = "the only handler in order_book is at line 36"
    start = text.index("line 36")
    assert name_beside(text, start, len(text)) == NameMention("order_book", is_code=False)
    assert name_beside(text, start, len(text), "shop/order_book.py") == NameMention(
        "order_book", is_code=False, is_plain=True
    )


def row(*columns: tuple[str, str]) -> tuple[list[Segment], Segment]:
    cells = [Segment("cell", text, 3, None, None, 1, row=3, column=column) for column, text in columns]
    location = Segment("cell", "`shop/cart.py:34`", 3, None, None, 1, row=3, is_location=True, column="Location")
    return [*cells, location], location


@pytest.mark.parametrize(
    ("column", "cell", "name", "flags"),
    [
        ("Function", "`total`", "total", "c"),
        ("Function", "`total()`", "total", "c"),
        ("function", "total", "total", ""),
        ("FUNCTION", "total()", "total", "c"),
        ("Function", "total(self, other)", "total", "c"),
        ("Function", "**total**", "total", ""),
        ("Function Name", "total", "total", ""),
        ("Class / Method", "`Cart.total`", "Cart.total", "c"),
        ("Functions", "`open`, `close`", "open|close", "c"),
        ("Functions", "open_cart, close_cart", "open_cart|close_cart", ""),
        ("Functions", "`open` / `close`", "open|close", "c"),
        ("Functions", "`total`, `x == 1`", "", ""),
        ("Symbol", "[`total`](x)", "", ""),
        ("Symbol", "`total` method", "total", "c"),
        ("Method", "_total", "_total", ""),
        ("Class", "Cart", "Cart", ""),
        ("Class", "cart", "cart", ""),
        ("Class", "`cart`", "cart", "p"),
        ("Class", "Basket", "Basket", ""),
        ("Function", "Authentication", "Authentication", "p"),
        ("Item", "`total`", "total", "c"),
        ("item", "total()", "total", "c"),
        ("Item", "addItem", "addItem", ""),
        ("Name", "Login handler", "", ""),
        ("Item", "Login handler", "", ""),
        ("Function", "adds the items", "", ""),
        ("Function", "`total` adds the items", "", ""),
        ("Function", "`x == 1`", "", ""),
        ("Notes", "`total`", "", ""),
        ("Function notes", "`total`", "", ""),
        ("函数", "`total`", "total", "c"),
        ("関数", "`total`", "total", "c"),
        ("名称", "`total`", "total", "c"),
        ("類", "`total`", "", ""),
    ],
)
def test_a_column_of_names_names_what_is_at_the_location(column: str, cell: str, name: str, flags: str) -> None:
    mention = name_of_row(*row((column, cell)))
    assert (mention.name if mention else "", shown(mention) if mention else "") == (name, flags)


def test_of_several_columns_the_one_of_the_smallest_thing_counts() -> None:
    cells, location = row(("Name", "`checkout`"), ("Class", "`Basket`"), ("Method", "`total`"))
    assert name_of_row(cells, location) == NameMention("total")
    assert name_of_row(cells[:2], location) == NameMention("Basket")


def test_the_cell_of_the_place_is_not_the_cell_of_its_name() -> None:
    location = Segment("cell", "`total`", 3, None, None, 1, row=3, is_location=True, column="Symbol")
    assert name_of_row([location], location) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_reading_never_fails(before: str, after: str) -> None:
    place = "shop/cart.py:34"
    mention = name_beside(before + place + after, len(before), len(before) + len(place))
    assert mention is None or mention.name


@pytest.mark.parametrize("unit", ["is ", "(", "`", "a.", "a::", "[", "](", "is defined in ", "`a` → ", "a()", "<", "*"])
def test_only_the_characters_next_to_a_place_are_read(unit: str) -> None:
    place = "shop/cart.py:34"
    near, far = unit * 400, unit * 200_000  # a line of a megabyte
    expected = name_beside(near + place + near, len(near), len(near) + len(place))
    for _ in range(20):
        assert name_beside(far + place + far, len(far), len(far) + len(place)) == expected
