"""The catalogue."""

from shop import catalog


def names(products):
    return [product.name for product in products]


def test_goods_are_imported_with_prices_in_pence(shop):
    (assam,) = catalog.search(shop.db, "Assam")
    assert assam.price == 550
    assert assam.stock == 40


def test_an_unknown_product_is_none(shop):
    assert catalog.find(shop.db, 999) is None


def test_pages_are_sorted_by_name_and_counted_from_one(shop):
    first = catalog.page(shop.db, 1, 6)
    assert names(first.products)[:3] == ["Assam", "Bamboo whisk", "Camomile"]
    assert (first.number, first.count) == (1, 3)


def test_the_last_page_holds_the_rest(shop):
    assert names(catalog.page(shop.db, 3, 6).products) == ["Tea towel", "Teapot"]


def test_a_page_past_the_end_is_the_last_one(shop):
    assert catalog.page(shop.db, 50, 6).number == 3


def test_search_looks_at_names_and_descriptions_in_any_case(shop):
    assert names(catalog.search(shop.db, "MATCHA")) == ["Bamboo whisk", "Matcha"]
    assert catalog.search(shop.db, "coffee") == []
