"""The shop as a browser sees it."""

import json

from shop import payments


def test_the_home_page_lists_goods_and_pages(browser):
    answer = browser.get("/")
    assert answer.status == 200
    assert "Assam" in answer.text
    assert '<a href="/?page=3">3</a>' in answer.text


def test_search_shows_what_was_found(browser):
    answer = browser.get("/search", q="green")
    assert "Found for green: 2" in answer.text
    assert "Sencha" in answer.text


def test_a_product_page_shows_price_and_stock(browser):
    assert "£5.50, 40 in stock" in browser.get("/goods/1").text


def test_unknown_pages_and_wrong_methods_say_so(browser):
    assert browser.get("/nowhere").status == 404
    assert browser.get("/goods/999").status == 404
    assert browser.get("/cart/add").status == 405


def test_a_cart_survives_logging_in_under_a_new_token(browser):
    browser.post("/cart/add", product=1, quantity=2)
    before = browser.cookie
    browser.post("/register", email="ada@example.org", password="correct horse")
    assert browser.cookie != before
    assert "£11.00" in browser.get("/cart").text


def test_a_wrong_quantity_is_explained(browser):
    answer = browser.post("/cart/add", product=1, quantity="lots")
    assert answer.status == 400
    assert "1 to 20" in answer.text


def test_orders_are_for_customers(browser):
    assert browser.get("/orders").status == 401
    assert browser.get("/orders/1").status == 401
    assert browser.post("/checkout", address="1 Tea Lane", card="4242").status == 401


def test_a_wrong_password_is_refused(customer):
    assert customer.post("/login", email="ada@example.org", password="wrong horse").status == 401


def test_logging_out_ends_the_session(customer):
    customer.post("/logout")
    assert customer.get("/orders").status == 401


def test_checkout_charges_mails_and_empties_the_cart(customer, shop):
    customer.post("/cart/add", product=1, quantity=2)
    answer = customer.post("/checkout", address="1 <b>Tea</b> Lane", card="4242")
    assert (answer.status, answer.headers["Location"]) == (303, "/orders/1")
    assert shop.gateway.charges == [(1, 1495)]
    assert shop.outbox.messages[0]["Subject"] == "Your order 1"
    assert "Your cart is empty" in customer.get("/cart").text
    page = customer.get("/orders/1").text
    assert "Total: £14.95" in page
    assert "1 &lt;b&gt;Tea&lt;/b&gt; Lane" in page


def test_a_signed_refund_reaches_the_order(customer, shop):
    customer.post("/cart/add", product=1, quantity=1)
    customer.post("/checkout", address="1 Tea Lane", card="4242")
    body = json.dumps({"type": "refunded", "order": 1}).encode()
    assert customer.send("/payments/webhook", body, "forged").status == 403
    signature = payments.signature(body, shop.settings.webhook_key)
    assert customer.send("/payments/webhook", body, signature).text == "done"
    assert "refunded" in customer.get("/orders").text
