"""Stripe's Python package judges signatures.

A line of input: `body`, `headers`, `secret` and `now`; a line of output: for each header, whether it
is let in.
"""

import json
import sys
import time

from stripe import SignatureVerificationError, WebhookSignature

TOLERANCE_S = 300


def is_let_in(asked, header):
    # The package has no parameter for the time.
    time.time = lambda: asked["now"]
    body = asked["body"].encode()
    try:
        WebhookSignature.verify_header(body, header, asked["secret"], TOLERANCE_S)
    except SignatureVerificationError:
        return False
    return True


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps([is_let_in(asked, header) for header in asked["headers"]]))
