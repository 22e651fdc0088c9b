"""Calls of SQS, made up from a seed. The clock moves, so delays and time-outs end; each case leaves
its queues empty."""

import random

BODIES = ["{}", "café", "x", '{"kind":"reminder","id":"b-1"}', "two\nlines\ttab", "😀", "x" * 3000]
BAD_BODIES = ["", "\x01", "a\x0bb", "\ufffe", "x" * 1_048_577]
KINDS = [
    {"DataType": "String", "StringValue": "reminder"},
    {"DataType": "Number", "StringValue": "42"},
    {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
    {"DataType": "String.ulid", "StringValue": "01J"},
]
BAD_KINDS = [
    {"DataType": "Text", "StringValue": "x"},
    {"DataType": "String", "StringValue": ""},
    {"DataType": "", "StringValue": "x"},
    {"StringValue": "x"},
    {"DataType": "Number", "StringValue": "many"},
    {"DataType": "String"},
]
BAD_NAMES = ["AWS.kind", "Amazon.kind", ".kind", "kind.", "a..b", "k nd", "k" * 257]
QUEUES = ["jobs", "jobs", "later"]


class Case:
    def __init__(self, seed, number):
        self.dice = random.Random(f"queues/{seed}/{number}")
        self.number, self.steps, self.sent = number, [], []

    def step(self, method, **wanted):
        self.steps.append({"service": "sqs", "method": method, "with": wanted})

    def body(self):
        text = f"{self.number}/{len(self.sent)} {self.dice.choice(BODIES)}"
        self.sent.append(text)
        return text

    def attributes(self):
        names = self.dice.sample(["kind", "key", "trace.id", "a_b-c"], self.dice.randint(0, 3))
        return {name: self.dice.choice(KINDS) for name in names}

    def message(self):
        wanted = {"MessageBody": self.body()}
        if attributes := self.attributes():
            wanted["MessageAttributes"] = attributes
        if self.dice.random() < 0.3:
            wanted["DelaySeconds"] = self.dice.choice([0, 5, 900])
        return wanted

    def bad_message(self):
        wanted = {"MessageBody": "good"}
        which = self.dice.randrange(5)
        if which == 0:
            wanted["MessageBody"] = self.dice.choice(BAD_BODIES)
        elif which == 1:
            wanted["MessageAttributes"] = {"kind": self.dice.choice(BAD_KINDS)}
        elif which == 2:
            wanted["MessageAttributes"] = {self.dice.choice(BAD_NAMES): KINDS[0]}
        elif which == 3:
            wanted["MessageAttributes"] = {f"a{number}": KINDS[0] for number in range(11)}
        else:
            wanted["DelaySeconds"] = self.dice.choice([-1, 901])
        return wanted

    def queue(self):
        return f"@{self.dice.choice(QUEUES)}"

    def send(self):
        self.step("send_message", QueueUrl=self.queue(), **self.message())

    def send_badly(self):
        self.step("send_message", QueueUrl=self.queue(), **self.bad_message())

    def send_batch(self):
        entries = [{"Id": f"e-{at}", **self.message()} for at in range(self.dice.randint(1, 4))]
        if self.number % 2 and self.dice.random() < 0.3:
            entries.append({"Id": "bad", **self.bad_message()})
        self.step("send_message_batch", QueueUrl=self.queue(), Entries=entries)

    def send_bad_batch(self):
        good = {"MessageBody": "good"}
        entries = self.dice.choice([
            [],
            [{"Id": "twin", **good}] * 2,
            [{"Id": f"e{at}", **good} for at in range(11)],
            [{"Id": "", **good}],
            [{"Id": "not so", **good}],
            [{"Id": "i" * 81, **good}],
            [good],
            [{"Id": "a", "MessageBody": "x" * 600_000}, {"Id": "b", "MessageBody": "x" * 600_000}],
        ])
        self.step("send_message_batch", QueueUrl=self.queue(), Entries=entries)

    def receive(self):
        wanted = {"QueueUrl": self.dice.choice(["@jobs", "@later", "@jobs-dlq"])}
        wanted["MaxNumberOfMessages"] = self.dice.choice([10, 10, 10, 1, 2])
        if self.dice.random() < 0.5:
            wanted["MessageAttributeNames"] = self.dice.choice(
                [["All"], [".*"], ["kind"], ["trace.*"], ["none"]]
            )
        if self.dice.random() < 0.5:
            wanted["MessageSystemAttributeNames"] = self.dice.choice(
                [["All"], ["ApproximateReceiveCount"], ["SentTimestamp", "SenderId"]]
            )
        if self.dice.random() < 0.4:
            wanted["VisibilityTimeout"] = self.dice.choice([0, 10, 600])
        self.step("receive_message", **wanted)

    def receive_badly(self):
        wrong = self.dice.choice([
            {"MaxNumberOfMessages": 0},
            {"MaxNumberOfMessages": 11},
            {"VisibilityTimeout": -1},
            {"VisibilityTimeout": 43_201},
            {"QueueUrl": "https://sqs.eu-west-2.amazonaws.com/000000000000/nowhere"},
        ])
        self.step("receive_message", **{"QueueUrl": "@jobs", **wrong})

    def delete(self):
        if self.sent:
            handle = f"@{self.dice.choice(self.sent)}"
            self.step("delete_message", QueueUrl=self.queue(), ReceiptHandle=handle)

    def delete_badly(self):
        self.step("delete_message", QueueUrl="@jobs", ReceiptHandle=self.dice.choice(["none", ""]))

    def wait(self):
        self.steps.append({"clock": self.dice.choice([5, 10, 30, 60, 180, 900])})


STEPS = {
    Case.send: 8,
    Case.send_badly: 3,
    Case.send_batch: 4,
    Case.send_bad_batch: 1,
    Case.receive: 10,
    Case.receive_badly: 1,
    Case.delete: 5,
    Case.delete_badly: 1,
    Case.wait: 6,
}


BAD = {Case.send_badly, Case.send_bad_batch, Case.receive_badly, Case.delete_badly}
GOOD = {step: often for step, often in STEPS.items() if step not in BAD}


def cases(seed, count):
    """In every second case all messages are good: so it is compared to its end."""
    for number in range(count):
        case = Case(seed, number)
        steps = STEPS if number % 2 else GOOD
        for _ in range(14):
            case.dice.choices(list(steps), list(steps.values()))[0](case)
        case.steps.append({"clock": 3_600})
        for queue in ("jobs", "later", "jobs-dlq"):
            case.steps.append({"drain": queue})
        yield {"name": f"queues {number}", "steps": case.steps}
