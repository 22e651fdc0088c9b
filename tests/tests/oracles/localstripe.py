"""One story of a card that fails and is replaced, told to the sandbox and to localstripe.

localstripe is another imitation of the provider (https://github.com/adrienverge/localstripe). It
runs as a process of its own on this machine's loopback address and keeps nothing. Argument: the
sandbox's address. Fails if the two tell the story differently.
"""

import subprocess
import sys
from contextlib import contextmanager

import stripe

SERVE = """
import socket
from aiohttp import web
from localstripe import server
type(server.store).dump_to_disk = lambda store: None
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
web.run_app(server.app, sock=listener, print=None, access_log=None)
"""
# What both tell. localstripe has no events of charges, and is silent about a charge that fails when
# an invoice is paid, so of the failure only the states are compared.
COMPARED = {"invoice.payment_succeeded", "payment_intent.succeeded"}


@contextmanager
def localstripe():
    command = [sys.executable, "-c", SERVE]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait(timeout=10)


def client_of(base, key):
    return stripe.StripeClient(
        key,
        base_addresses={"api": base},
        stripe_version="2026-07-29.dahlia",
        max_network_retries=0,
        http_client=stripe.RequestsClient(timeout=10),
    ).v1


def price_item(client):
    product = client.products.create({"name": "Gym"})
    price = client.prices.create({
        "currency": "gbp",
        "unit_amount": 1500,
        "recurring": {"interval": "month"},
        "product": product.id,
    })
    return {"price": price.id}


def plan_item(client):
    plan = client.plans.create({
        "amount": 1500,
        "currency": "gbp",
        "interval": "month",
        "product": {"name": "Gym"},
    })
    return {"plan": plan.id}


def story(client, item):
    """Returns how each step ended, and then what was told."""
    steps = []
    customer = client.customers.create({"email": "ada@example.com"}).id

    def charge_with(name):
        method = client.payment_methods.attach(name, {"customer": customer}).id
        default = {"invoice_settings": {"default_payment_method": method}}
        client.customers.update(customer, default)

    def pay():
        try:
            steps.append(("pays", client.invoices.pay(invoice).status))
        except stripe.StripeError as error:
            steps.append(("refused", error.http_status, error.code, error.user_message))

    charge_with("pm_card_chargeCustomerFail")
    made = client.subscriptions.create({"customer": customer, "items": [item(client)]})
    invoice = made.latest_invoice
    steps.append(("subscribed", made.status, client.invoices.retrieve(invoice).status))
    charge_with("pm_card_visa")
    pay()
    steps.append(("then", client.subscriptions.retrieve(made.id).status))
    pay()
    # In which order events come is for neither to promise.
    events = client.events.list({"limit": 100}).data
    steps.append(tuple(sorted(it.type for it in events if it.type in COMPARED)))
    return steps


with localstripe() as base:
    theirs = story(client_of(base, "sk_test_sandbox"), plan_item)
ours = story(client_of(sys.argv[1], "rk_test_sandbox"), price_item)
for step in zip(ours, theirs, strict=True):
    print(*step, sep="\n  ")
assert ours == theirs, "the two differ"
print("the same story")
