// Stripe's Node package judges signatures.
//
// A line of input: `body`, `headers`, `secret` and `now`; a line of output: for each header, whether it
// is let in.

const readline = require("node:readline");
const Stripe = require("stripe");

const TOLERANCE_S = 300;
const { signature } = new Stripe("sk_test_nobody").webhooks;

function isLetIn({ body, secret, now }, header) {
  try {
    // The body is text here: of bytes the package drops a byte order mark before it looks.
    return signature.verifyHeader(body, header, secret, TOLERANCE_S, undefined, now * 1000);
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) return false;
    // What the package makes of a v1 without a value.
    if (error.message === "secureCompare must receive two arguments") return false;
    throw error;
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const asked = JSON.parse(line);
  console.log(JSON.stringify(asked.headers.map((header) => isLetIn(asked, header))));
});
