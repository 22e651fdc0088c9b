"""Stories of billing, told to the sandbox by Stripe's own client. Arguments: address, secret."""

import sys

import requests
import stripe

BASE, SECRET = sys.argv[1:3]
client = stripe.StripeClient(
    "rk_test_sandbox",
    base_addresses={"api": BASE},
    stripe_version="2026-07-29.dahlia",
    max_network_retries=0,
    http_client=stripe.RequestsClient(timeout=10),
).v1


def control(path, **body):
    answer = requests.post(f"{BASE}/_sandbox/{path}", json=body, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(error, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except error as caught:
        return caught
    raise AssertionError(f"no {error.__name__}")


def member(**wish):
    return control("subscriptions", **wish)


def failed(made, **wish):
    return control(f"subscriptions/{made['subscription']}/fail-renewal", **wish)["id"]


def due():
    return requests.get(f"{BASE}/due", timeout=10).json()


def successes(invoice):
    ledger = requests.get(f"{BASE}/_sandbox/ledger", timeout=10).json()
    (found,) = [it for it in ledger["invoices"] if it["id"] == invoice]
    return len(found["successful_charges"])


def a_subscription_is_made_and_paid():
    customer = client.customers.create({"email": "ada@example.com", "name": "Ada"})
    method = client.payment_methods.attach("pm_card_visa", {"customer": customer.id})
    assert method.card.last4 == "4242" and method.customer == customer.id
    client.customers.update(
        customer.id, {"invoice_settings": {"default_payment_method": method.id}}
    )
    price = {
        "currency": "gbp",
        "unit_amount": 1500,
        "recurring": {"interval": "month"},
        "product": client.products.create({"name": "Gym"}).id,
    }
    made = client.subscriptions.create({
        "customer": customer.id,
        "items": [{"price_data": price}],
        "expand": ["latest_invoice.payments", "customer"],
    })
    assert (made.status, made.customer.email) == ("active", "ada@example.com")
    invoice = made.latest_invoice
    assert (invoice.status, invoice.amount_paid) == ("paid", 1500)
    assert invoice.parent.subscription_details.subscription == made.id
    (payment,) = invoice.payments.data
    assert (payment.status, payment.payment.type) == ("paid", "payment_intent")
    intent = client.payment_intents.retrieve(payment.payment.payment_intent)
    assert (intent.status, intent.customer) == ("succeeded", customer.id)
    listed = client.subscriptions.list({"customer": customer.id})
    assert [it.id for it in listed.auto_paging_iter()] == [made.id]


def a_decline_is_a_card_error():
    made = member()
    invoice = failed(made, decline="insufficient_funds", network_decline_code="51")
    error = refused(stripe.CardError, client.invoices.pay, invoice)
    assert (error.http_status, error.code) == (402, "card_declined")
    assert error.error.decline_code == "insufficient_funds"
    assert error.error.advice_code == "try_again_later"
    assert error.error.network_decline_code == "51"
    assert error.error.payment_method.id == made["payment_method"]
    charge = client.charges.retrieve(error.error.charge)
    assert charge.outcome.network_decline_code == "51"
    assert charge.payment_method_details.card.fingerprint
    assert client.subscriptions.retrieve(made["subscription"]).status == "past_due"
    since = {"customer": made["customer"], "created": {"gte": charge.created - 60}}
    assert [it.status for it in client.charges.list(since)] == ["failed", "failed", "succeeded"]


def an_invoice_is_paid_once():
    invoice = failed(member(), times=0)
    assert client.invoices.pay(invoice).status == "paid"
    error = refused(stripe.InvalidRequestError, client.invoices.pay, invoice)
    assert error.user_message == "Invoice is already paid"
    assert successes(invoice) == 1


def a_bank_may_ask():
    made = member()
    invoice = failed(made, times=0)
    control(f"customers/{made['customer']}/card", card="pm_card_authenticationRequired")
    error = refused(stripe.CardError, client.invoices.pay, invoice)
    assert error.code == "invoice_payment_intent_requires_action"
    path = ["payments.data.payment.payment_intent"]
    shown = client.invoices.retrieve(invoice, {"expand": path})
    intent = shown.payments.data[0].payment.payment_intent
    assert intent.status == "requires_action"
    page = requests.post(shown.hosted_invoice_url, data={"confirm": "yes"}, timeout=10)
    assert "This has been paid" in page.text
    assert client.invoices.retrieve(invoice).status == "paid"


def a_key_keeps_its_first_answer_for_a_day():
    invoice = failed(member(), times=1)
    pay = lambda key, **more: client.invoices.pay(invoice, more, {"idempotency_key": key})
    first = refused(stripe.CardError, pay, "one")
    again = refused(stripe.CardError, pay, "one")
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json_body == first.json_body
    other = refused(stripe.IdempotencyError, pay, "one", forgive=True)
    assert other.http_status == 400
    paid = pay("two")
    assert pay("two").id == paid.id and successes(invoice) == 1
    requests.post(f"{BASE}/clock/86400", timeout=10)
    refused(stripe.InvalidRequestError, pay, "one")
    requests.post(f"{BASE}/clock/-86400", timeout=10)


def a_key_in_flight_is_in_use():
    invoice = failed(member(), times=0)
    pay = lambda: client.invoices.pay(invoice, {}, {"idempotency_key": "flight"})
    control("next-pay", outcome="hold")
    assert refused(stripe.APIError, pay).http_status == 504
    error = refused(stripe.StripeError, pay)
    assert (error.http_status, error.error.code) == (409, "idempotency_key_in_use")
    assert control("next-pay/release")["status"] == 200
    assert pay().status == "paid" and successes(invoice) == 1


def the_portal_changes_the_card():
    made = member()
    invoice = failed(made)
    session = client.billing_portal.sessions.create({
        "customer": made["customer"],
        "return_url": "https://app.example/back",
        "flow_data": {"type": "payment_method_update"},
    })
    assert session.flow.type == "payment_method_update"
    page = requests.post(session.url, data={"card": "5555 5555 5555 4444"}, timeout=10)
    assert page.status_code == 200, page.text
    customer = client.customers.retrieve(made["customer"])
    default = client.payment_methods.retrieve(customer.invoice_settings.default_payment_method)
    assert default.card.networks.available == ["mastercard"]
    assert client.invoices.pay(invoice).status == "paid"


def webhooks_are_signed_and_tell_what_was():
    due()
    made = member()
    invoice = failed(made)
    taken = [
        (stripe.Webhook.construct_event(it["body"], it["signature"], SECRET), it)
        for it in due()
    ]
    assert all(it["function"] == "dunr-webhook" for _, it in taken)
    events = [event for event, _ in taken]
    kinds = [event.type for event in events]
    assert {"charge.failed", "payment_intent.payment_failed"} < set(kinds)
    (told,) = [event for event in events if event.type == "invoice.payment_failed"]
    assert (told.data.object.id, told.api_version) == (invoice, "2026-07-29.dahlia")
    changes = [event for event in events if event.type == "customer.subscription.updated"]
    assert changes[-1].data.previous_attributes["status"] == "active"
    refused(
        stripe.SignatureVerificationError,
        stripe.Webhook.construct_event,
        taken[0][1]["body"],
        taken[0][1]["signature"],
        "whsec_wrong",
    )


def an_operator_sees_the_account_and_its_endpoints():
    assert client.accounts.retrieve_current().charges_enabled
    first, dunning = client.webhook_endpoints.list().data
    assert dunning.enabled_events == ["*"] and dunning.url.endswith("/url/dunr-webhook/")
    assert (dunning.status, dunning.livemode) == ("enabled", False)
    assert first.api_version == "2026-07-29.dahlia"


def a_subscription_ends_and_its_invoice_stays():
    made = member()
    invoice = failed(made)
    assert client.subscriptions.cancel(made["subscription"]).status == "canceled"
    assert client.invoices.retrieve(invoice).status == "open"
    open_ones = client.invoices.list({"subscription": made["subscription"], "status": "open"})
    assert [it.id for it in open_ones] == [invoice]
    assert client.invoices.void_invoice(invoice).status == "void"
    refused(stripe.InvalidRequestError, client.invoices.mark_uncollectible, invoice)


STORIES = [
    a_subscription_is_made_and_paid,
    a_decline_is_a_card_error,
    an_invoice_is_paid_once,
    a_bank_may_ask,
    a_key_keeps_its_first_answer_for_a_day,
    a_key_in_flight_is_in_use,
    the_portal_changes_the_card,
    webhooks_are_signed_and_tell_what_was,
    an_operator_sees_the_account_and_its_endpoints,
    a_subscription_ends_and_its_invoice_stays,
]
for story in STORIES:
    story()
    print("ok", story.__name__)
print(len(STORIES), "stories passed")
