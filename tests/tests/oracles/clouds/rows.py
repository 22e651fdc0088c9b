"""Calls of DynamoDB, made up from a seed: short cases, each on rows of its own."""

import random

STATES = ["PENDING", "CONFIRMED", "RELEASED"]
TEXTS = ["", "a", "ab", "abc", "b-1", "café", "Z", "PENDING", "2027-03-01T09:00:00Z", "10", "9"]
NUMBERS = ["0", "1", "-1", "2", "9", "10", "2500", "1.50", "007", "1e3", "-0", "0.1", "9.99E-7"]
WIDE_NUMBERS = [
    "99999999999999999999999999999999999999",
    "999999999999999999999999999999999999999",
    "1e125",
    "1e126",
    "1e-130",
    "1e-131",
    "0.00000000000000000000000000000000000001",
    "1.0000",
    "abc",
    "",
    " 1",
    "+5",
    "NaN",
    "1_000",
]
ATTRIBUTES = ["state", "version", "amount", "note", "tags", "seen", "lines", "details", "flag"]
TIMES = [f"2027-03-0{day}T09:00:00Z" for day in range(1, 6)]


def S(text):
    return {"S": text}


def N(number):
    return {"N": str(number)}


class Case:
    """One case: a few steps on rows whose keys begin with its number."""

    def __init__(self, seed, number):
        self.dice = random.Random(f"{seed}/{number}")
        self.number = number
        self.steps = []

    # What is said in one expression: its aliases and values.
    def expression(self):
        self.names, self.values = {}, {}

    def name(self, attribute):
        alias = f"#{attribute}"
        self.names[alias] = attribute
        return alias

    def value(self, value):
        alias = f":v{len(self.values)}"
        self.values[alias] = value
        return alias

    def placeholders(self):
        said = {}
        if self.names:
            said["ExpressionAttributeNames"] = self.names
        if self.values:
            said["ExpressionAttributeValues"] = self.values
        return said

    # Rows.
    def booking(self):
        return {"booking_id": S(f"b{self.number}-{self.dice.randrange(3)}")}

    def audit(self):
        return {
            "booking_id": S(f"b{self.number}-{self.dice.randrange(2)}"),
            "ts": S(self.dice.choice(["a#1", "a#2", "b#1", *TIMES])),
        }

    def case(self):
        return {"case_id": S(f"c{self.number}-{self.dice.randrange(4)}")}

    def key(self):
        table = self.dice.choice(["bookings", "bookings", "audit", "cases"])
        return table, {"bookings": self.booking, "audit": self.audit, "cases": self.case}[table]()

    def random_value(self, depth=0):
        roll = self.dice.random()
        if roll < 0.3:
            return S(self.dice.choice(TEXTS))
        if roll < 0.6:
            return N(self.dice.choice(NUMBERS))
        if roll < 0.7:
            return {"SS": self.dice.sample(["a", "b", "c", "ab"], self.dice.randint(1, 3))}
        if roll < 0.77:
            return {"NS": self.dice.sample(["1", "2", "3.0", "10"], self.dice.randint(1, 3))}
        if roll < 0.82:
            return {"BOOL": self.dice.random() < 0.5}
        if roll < 0.86:
            return {"NULL": True}
        if roll < 0.89:
            return {"B": self.dice.choice([b"", b"a", b"\x00\xff"])}
        if depth > 1:
            return S("deep")
        if roll < 0.94:
            return {"L": [self.random_value(depth + 1) for _ in range(self.dice.randint(0, 3))]}
        inner = {name: self.random_value(depth + 1) for name in self.dice.sample(["a", "b", "c"], 2)}
        return {"M": inner}

    def usual_value(self, attribute):
        """A value of the type that the attribute mostly has."""
        if self.dice.random() < 0.15:
            return self.random_value()
        return {
            "state": lambda: S(self.dice.choice(STATES)),
            "version": lambda: N(self.dice.randint(1, 5)),
            "amount": lambda: N(self.dice.choice(NUMBERS)),
            "note": lambda: S(self.dice.choice(TEXTS)),
            "tags": lambda: {"SS": self.dice.sample(["a", "b", "c"], self.dice.randint(1, 3))},
            "seen": lambda: {"NS": self.dice.sample(["1", "2", "3"], self.dice.randint(1, 3))},
            "lines": lambda: {"L": [self.random_value(1) for _ in range(self.dice.randint(0, 3))]},
            "details": lambda: {"M": {"a": self.random_value(1), "b": N(self.dice.randint(1, 5))}},
            "flag": lambda: {"BOOL": self.dice.random() < 0.5},
        }[attribute]()

    def item(self, table, key):
        wanted = self.dice.sample(ATTRIBUTES, self.dice.randint(2, 6))
        item = {**key, **{name: self.usual_value(name) for name in wanted}}
        if table == "bookings" and self.dice.random() < 0.7:
            item["state_shard"] = S(f"s{self.number}")
            item["due_at"] = S(self.dice.choice(TIMES))
        if table == "cases" and self.dice.random() < 0.7:
            item |= {
                "open_shard": S(f"o{self.number}"),
                "open_since": S(self.dice.choice(TIMES)),
                "subject": S("b-1"),
                "reason": S(self.dice.choice(["late", "double"])),
                "status": S("OPEN"),
            }
        return item

    # Expressions.
    def path(self):
        roll = self.dice.random()
        if roll < 0.75:
            return self.name(self.dice.choice(ATTRIBUTES))
        if roll < 0.85:
            return f"{self.name('details')}.{self.name(self.dice.choice('abz'))}"
        if roll < 0.95:
            return f"{self.name('lines')}[{self.dice.choice([0, 0, 1, 7])}]"
        return self.name("missing")

    def comparison(self):
        attribute = self.dice.choice(ATTRIBUTES)
        operator = self.dice.choice(["=", "<>", "<", "<=", ">", ">="])
        if operator in "=<>" or attribute in ("state", "version", "amount", "note"):
            value = self.usual_value(attribute)
        else:
            value = self.dice.choice([S("b"), N("2")])
        return f"{self.name(attribute)} {operator} {self.value(value)}"

    def condition(self, depth=0):
        roll = self.dice.random()
        if roll < 0.16:
            return f"attribute_exists({self.path()})"
        if roll < 0.28:
            return f"attribute_not_exists({self.path()})"
        if roll < 0.5:
            return self.comparison()
        if roll < 0.56:
            return f"begins_with({self.path()}, {self.value(S(self.dice.choice(TEXTS)))})"
        if roll < 0.63:
            wanted = self.dice.choice([S("a"), S("b"), N("1"), N("3"), S("")])
            return f"contains({self.path()}, {self.value(wanted)})"
        if roll < 0.69:
            operator = self.dice.choice(["=", "<", ">", ">="])
            return f"size({self.path()}) {operator} {self.value(N(self.dice.randint(0, 4)))}"
        if roll < 0.73:
            kind = self.dice.choice(["S", "N", "SS", "M", "L", "BOOL", "NULL"])
            return f"attribute_type({self.path()}, {self.value(S(kind))})"
        if roll < 0.79:
            low, high = sorted(self.dice.sample(range(6), 2))
            return f"{self.path()} BETWEEN {self.value(N(low))} AND {self.value(N(high))}"
        if roll < 0.85:
            values = [self.value(self.random_value(2)) for _ in range(self.dice.randint(1, 3))]
            return f"{self.path()} IN ({', '.join(values)})"
        if roll < 0.88:
            return f"{self.path()} = {self.path()}"
        if depth > 1:
            return self.comparison()
        if roll < 0.92:
            return f"NOT {self.condition(depth + 1)}"
        joined = self.dice.choice(["AND", "OR"])
        return f"({self.condition(depth + 1)} {joined} {self.condition(depth + 1)})"

    def maybe_condition(self, often=0.6):
        if self.dice.random() > often:
            return {}
        said = {"ConditionExpression": self.condition()}
        if self.dice.random() < 0.6:
            said["ReturnValuesOnConditionCheckFailure"] = self.dice.choice(["ALL_OLD", "NONE"])
        return said

    def update(self):
        """An update expression on attributes of which no two are the same."""
        free = self.dice.sample(ATTRIBUTES, self.dice.randint(1, 4))
        clauses = {"SET": [], "REMOVE": [], "ADD": [], "DELETE": []}
        for attribute in free:
            clause, said = self.action(attribute)
            clauses[clause].append(said)
        if self.dice.random() < 0.2:
            clauses["SET"].append(f"{self.name('due_at')} = {self.value(S(self.dice.choice(TIMES)))}")
        if self.dice.random() < 0.1:
            clauses["REMOVE"].append(self.name("state_shard"))
        order = self.dice.sample(list(clauses), 4)
        return " ".join(f"{it} {', '.join(clauses[it])}" for it in order if clauses[it])

    def action(self, attribute):
        path = self.name(attribute)
        roll = self.dice.random()
        if attribute in ("version", "amount") and roll < 0.3:
            return "ADD", f"{path} {self.value(N(self.dice.choice(NUMBERS)))}"
        if attribute in ("version", "amount") and roll < 0.6:
            sign = self.dice.choice("+-")
            number = self.value(N(self.dice.choice(NUMBERS)))
            before = path
            if self.dice.random() < 0.5:
                before = f"if_not_exists({path}, {self.value(N(0))})"
            return "SET", f"{path} = {before} {sign} {number}"
        if attribute in ("tags", "seen") and roll < 0.7:
            clause = self.dice.choice(["ADD", "DELETE"])
            return clause, f"{path} {self.value(self.usual_value(attribute))}"
        if attribute == "lines" and roll < 0.3:
            more = self.value({"L": [self.random_value(1)]})
            before = path
            if self.dice.random() < 0.7:
                before = f"if_not_exists({path}, {self.value({'L': []})})"
            both = self.dice.sample([before, more], 2)
            return "SET", f"{path} = list_append({', '.join(both)})"
        if attribute == "lines" and roll < 0.6:
            index = self.dice.choice([0, 1, 9])
            if self.dice.random() < 0.5:
                return "REMOVE", f"{path}[{index}]"
            return "SET", f"{path}[{index}] = {self.value(self.random_value(1))}"
        if attribute == "details" and roll < 0.5:
            inner = f"{path}.{self.name(self.dice.choice('abz'))}"
            if self.dice.random() < 0.3:
                return "REMOVE", inner
            return "SET", f"{inner} = {self.value(self.random_value(1))}"
        if roll < 0.75:
            return "REMOVE", path
        if roll < 0.85:
            return "SET", f"{path} = if_not_exists({path}, {self.value(self.usual_value(attribute))})"
        return "SET", f"{path} = {self.value(self.usual_value(attribute))}"

    # Steps.
    def step(self, method, wanted, **more):
        self.steps.append({"service": "dynamodb", "method": method, "with": wanted, **more})

    def put(self):
        table, key = self.key()
        self.expression()
        wanted = {"TableName": table, "Item": self.item(table, key), **self.maybe_condition(0.4)}
        if self.dice.random() < 0.5:
            wanted["ReturnValues"] = self.dice.choice(["NONE", "ALL_OLD"])
        self.step("put_item", {**wanted, **self.placeholders()})

    def change(self):
        table, key = self.key()
        self.expression()
        wanted = {"TableName": table, "Key": key, "UpdateExpression": self.update()}
        wanted |= self.maybe_condition()
        if self.dice.random() < 0.8:
            wanted["ReturnValues"] = self.dice.choice(
                ["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"]
            )
        self.step("update_item", {**wanted, **self.placeholders()})

    def remove(self):
        table, key = self.key()
        self.expression()
        wanted = {"TableName": table, "Key": key, **self.maybe_condition()}
        if self.dice.random() < 0.5:
            wanted["ReturnValues"] = self.dice.choice(["NONE", "ALL_OLD"])
        self.step("delete_item", {**wanted, **self.placeholders()})

    def read(self):
        table, key = self.key()
        self.expression()
        wanted = {"TableName": table, "Key": key, "ConsistentRead": self.dice.random() < 0.5}
        if self.dice.random() < 0.5:
            wanted["ProjectionExpression"] = self.projection()
        self.step("get_item", {**wanted, **self.placeholders()})

    def projection(self):
        wanted = self.dice.sample(["state", "version", "tags", "note"], self.dice.randint(1, 2))
        paths = [self.name(attribute) for attribute in wanted]
        if self.dice.random() < 0.4:
            paths.append(f"{self.name('details')}.{self.name(self.dice.choice('abz'))}")
        if self.dice.random() < 0.4:
            paths.append(f"{self.name('lines')}[{self.dice.choice([0, 1, 7])}]")
        return ", ".join(paths)

    def query(self):
        self.expression()
        self.dice.choice([self.query_audit, self.query_index])()

    def query_audit(self):
        booking = self.audit()["booking_id"]
        hashed = f"{self.name('booking_id')} = {self.value(booking)}"
        ts = self.name("ts")
        low, high = sorted(self.dice.sample(["a", "a#1", "a#2", "b#1", *TIMES], 2))
        ranged = self.dice.choice([
            lambda: "",
            lambda: f" AND {ts} {self.dice.choice(['=', '<', '<=', '>', '>='])} {self.value(S(low))}",
            lambda: f" AND {ts} BETWEEN {self.value(S(low))} AND {self.value(S(high))}",
            lambda: f" AND begins_with({ts}, {self.value(S(self.dice.choice(['a', '2027', 'z'])))})",
        ])()
        if not ranged:
            del self.names[ts]
        self.ask({"TableName": "audit", "KeyConditionExpression": hashed + ranged})

    def query_index(self):
        table, index, shard, at, prefix = self.dice.choice([
            ("bookings", "due-index", "state_shard", "due_at", "s"),
            ("cases", "open-index", "open_shard", "open_since", "o"),
        ])
        said = f"{self.name(shard)} = {self.value(S(f'{prefix}{self.number}'))}"
        if self.dice.random() < 0.6:
            said += f" AND {self.name(at)} <= {self.value(S(self.dice.choice(TIMES)))}"
        wanted = {"TableName": table, "IndexName": index, "KeyConditionExpression": said}
        self.ask(wanted, of_index=True)

    def ask(self, wanted, of_index=False):
        roll = self.dice.random()
        if roll < 0.3 and not of_index:
            wanted["FilterExpression"] = self.condition()
        elif roll < 0.45 and wanted.get("IndexName") == "open-index":
            wanted["FilterExpression"] = f"{self.name('reason')} = {self.value(S('late'))}"
        if self.dice.random() < 0.3 and not of_index:
            wanted["ProjectionExpression"] = self.projection()
        elif self.dice.random() < 0.15:
            wanted["Select"] = "COUNT"
        if self.dice.random() < 0.6:
            wanted["Limit"] = self.dice.randint(1, 3)
        if self.dice.random() < 0.6:
            wanted["ScanIndexForward"] = self.dice.random() < 0.5
        self.step("query", {**wanted, **self.placeholders()}, pages=True, of_index=of_index)

    def transact(self):
        actions, keys = [], []
        for _ in range(self.dice.randint(1, 4)):
            table, key = self.key()
            if (table, key) in keys and self.dice.random() < 0.9:
                continue
            keys.append((table, key))
            actions.append(self.transact_action(table, key))
        wanted = {"TransactItems": actions}
        if self.dice.random() < 0.4:
            wanted["ClientRequestToken"] = f"token-{self.number}-{self.dice.randrange(2)}"
        self.step("transact_write_items", wanted)
        if "ClientRequestToken" in wanted and self.dice.random() < 0.5:
            self.step("transact_write_items", wanted)

    def transact_action(self, table, key):
        self.expression()
        kind = self.dice.choice(["Put", "Put", "Update", "Update", "Delete", "ConditionCheck"])
        wanted = {"TableName": table}
        if kind == "Put":
            wanted |= {"Item": self.item(table, key), **self.maybe_condition()}
        elif kind == "Update":
            wanted |= {"Key": key, "UpdateExpression": self.update(), **self.maybe_condition()}
        elif kind == "Delete":
            wanted |= {"Key": key, **self.maybe_condition()}
        else:
            wanted |= {"Key": key, **self.maybe_condition(1.0)}
        return {kind: {**wanted, **self.placeholders()}}

    def batch_get(self):
        self.expression()
        keys = [self.booking() for _ in range(self.dice.randint(1, 3))]
        if self.dice.random() < 0.9:
            keys = [key for at, key in enumerate(keys) if key not in keys[:at]]
        wanted = {"Keys": keys}
        if self.dice.random() < 0.5:
            wanted["ProjectionExpression"] = self.projection()
        self.step("batch_get_item", {"RequestItems": {"bookings": {**wanted, **self.placeholders()}}})

    def batch_write(self):
        requests = []
        for _ in range(self.dice.randint(1, 4)):
            key = self.booking()
            if self.dice.random() < 0.5:
                requests.append({"DeleteRequest": {"Key": key}})
            else:
                requests.append({"PutRequest": {"Item": self.item("bookings", key)}})
        self.step("batch_write_item", {"RequestItems": {"bookings": requests}})

    def wide_number(self):
        number = N(self.dice.choice(WIDE_NUMBERS))
        item = {**self.booking(), "amount": number}
        self.step("put_item", {"TableName": "bookings", "Item": item})
        self.expression()
        said = f"SET {self.name('amount')} = {self.name('amount')} + {self.value(N('1'))}"
        wanted = {"TableName": "bookings", "Key": {"booking_id": item["booking_id"]}}
        wanted |= {"UpdateExpression": said, "ReturnValues": "ALL_NEW", **self.placeholders()}
        self.step("update_item", wanted)

    def all_rows(self):
        for number in range(3):
            key = {"booking_id": S(f"b{self.number}-{number}")}
            self.step("get_item", {"TableName": "bookings", "Key": key})


KINDS = {
    Case.put: 22,
    Case.change: 28,
    Case.remove: 8,
    Case.read: 6,
    Case.query: 14,
    Case.transact: 14,
    Case.batch_get: 3,
    Case.batch_write: 3,
    Case.wide_number: 2,
}


def cases(seed, count):
    for number in range(count):
        case = Case(seed, number)
        for _ in range(3):
            case.put()
        for _ in range(12):
            case.dice.choices(list(KINDS), list(KINDS.values()))[0](case)
        case.all_rows()
        yield {"name": f"rows {number}", "steps": case.steps}
