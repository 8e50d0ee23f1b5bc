"""The cart and its prices."""

import pytest

from shop import auth, cart, prices
from shop.cart import Cart, CartError, Line

ASSAM, TEAPOT = 1, 11


@pytest.fixture
def token(shop):
    return auth.open_session(shop.db)


def test_a_new_cart_is_empty_and_costs_nothing(shop, token):
    assert cart.load(shop.db, token).total == 0


def test_adding_twice_adds_up(shop, token):
    cart.add(shop.db, token, ASSAM, 2)
    cart.add(shop.db, token, ASSAM, 1)
    (line,) = cart.load(shop.db, token).lines
    assert (line.quantity, line.total) == (3, 1650)


def test_removing_takes_the_whole_line(shop, token):
    cart.add(shop.db, token, ASSAM, 2)
    cart.remove(shop.db, token, ASSAM)
    assert cart.load(shop.db, token).lines == ()


@pytest.mark.parametrize("quantity", [0, -1, 21])
def test_an_impossible_quantity_is_refused(shop, token, quantity):
    with pytest.raises(CartError, match="1 to 20"):
        cart.add(shop.db, token, ASSAM, quantity)


def test_more_than_the_stock_is_refused(shop, token):
    with pytest.raises(CartError, match="only 8 of Teapot"):
        cart.add(shop.db, token, TEAPOT, 9)


def test_unknown_goods_and_codes_are_refused(shop, token):
    with pytest.raises(CartError, match="do not sell"):
        cart.add(shop.db, token, 999, 1)
    with pytest.raises(CartError, match="do not know"):
        cart.use_code(shop.db, token, "FREE")


def test_a_code_lowers_the_goods_but_not_the_shipping(shop, token):
    cart.add(shop.db, token, ASSAM, 2)
    cart.use_code(shop.db, token, "welcome10")
    content = cart.load(shop.db, token)
    assert (content.subtotal, content.goods, content.shipping) == (1100, 990, 395)
    assert content.total == 1385


def test_shipping_is_free_from_forty_pounds():
    assert Cart((Line(1, "Assam", 3999, 1),)).shipping == 395
    assert Cart((Line(1, "Assam", 4000, 1),)).shipping == 0


@pytest.mark.parametrize(("pence", "after"), [(1000, 900), (995, 895), (994, 895), (0, 0)])
def test_a_discount_is_rounded_to_the_nearest_penny(pence, after):
    assert prices.discounted(pence, "WELCOME10") == after


def test_money_is_written_in_pounds_and_pence():
    assert prices.money(1205) == "£12.05"
