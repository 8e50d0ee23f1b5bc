"""Orders, payments and receipts."""

import pytest

from shop import auth, mail, orders, payments
from shop.cart import Cart, Line
from shop.orders import OrderError

TWO_ASSAM = Cart((Line(1, "Assam", 550, 2),))


@pytest.fixture
def user(shop):
    return auth.register(shop.db, "Ada@Example.org", "correct horse")


@pytest.fixture
def order(shop, user):
    return orders.find(shop.db, orders.place(shop.db, user.id, TWO_ASSAM, "1 Tea Lane"))


def test_an_order_costs_what_the_cart_costs(order):
    assert order.total == TWO_ASSAM.total == 1495
    assert order.status == "new"


def test_an_order_takes_its_goods_from_the_stock(shop, order):
    (stock,) = shop.db.execute("SELECT stock FROM products WHERE id = 1").fetchone()
    assert stock == 38


def test_goods_that_sold_out_leave_no_order_behind(shop, user):
    too_many = Cart((Line(1, "Assam", 550, 41),))
    with pytest.raises(OrderError, match="sold out"):
        orders.place(shop.db, user.id, too_many, "1 Tea Lane")
    assert orders.of_user(shop.db, user.id) == []


def test_an_order_needs_goods_and_an_address(shop, user):
    with pytest.raises(OrderError, match="empty"):
        orders.place(shop.db, user.id, Cart(()), "1 Tea Lane")
    with pytest.raises(OrderError, match="Where"):
        orders.place(shop.db, user.id, TWO_ASSAM, "  ")


def test_a_captured_order_is_paid(shop, order):
    payments.capture(shop.db, shop.gateway, order, "4242")
    assert shop.gateway.charges == [(order.id, 1495)]
    assert orders.find(shop.db, order.id).status == "paid"


def test_the_practice_gateway_declines_on_request():
    with pytest.raises(payments.PaymentError, match="declined for order 7"):
        payments.PracticeGateway().charge(7, 100, "declined")


def test_a_signature_holds_for_its_body_and_key_only():
    signed = payments.signature(b"{}", b"key")
    assert payments.is_genuine(b"{}", signed, b"key")
    assert not payments.is_genuine(b"[]", signed, b"key")
    assert not payments.is_genuine(b"{}", signed, b"other")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"type": "refunded", "order": 99}'])
def test_a_webhook_about_nothing_we_know_is_ignored(shop, body):
    assert payments.receive(shop.db, body) is False


def test_a_receipt_goes_to_the_customer(order):
    message = mail.receipt(order, "ada@example.org")
    assert message["To"] == "ada@example.org"
    assert "£14.95" in message.get_content()


def test_passwords_are_checked_in_full(shop, user):
    assert auth.check_password(shop.db, "ada@example.org", "correct horse") == user
    assert auth.check_password(shop.db, "ada@example.org", "correct hors") is None
    assert auth.check_password(shop.db, "bob@example.org", "correct horse") is None
