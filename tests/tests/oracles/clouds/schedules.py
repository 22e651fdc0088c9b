"""Calls of EventBridge Scheduler, made up from a seed: one-off schedules like those of retries."""

import random

GOOD = [
    "at(2099-07-01T09:00:00)",
    "rate(5 minutes)",
    "rate(1 hour)",
    "rate(1 day)",
    "cron(0 9 * * ? *)",
    "cron(0/15 8-18 ? * MON-FRI *)",
    "cron(0 9 ? * 2#1 *)",
    "cron(0 9 L * ? *)",
    "cron(0 9 1 1 ? 2099)",
]
BAD = [
    "",
    "every day",
    "rate(0 minutes)",
    "rate(-1 minutes)",
    "rate(5 fortnights)",
    "rate(1.5 hours)",
    "rate(5)",
    "rate(5 minutes",
    "at(tomorrow)",
    "at(2099-07-01)",
    "at(2099-02-30T09:00:00)",
    "at(2099-07-01T09:00:00Z)",
    "at(2099-07-01 09:00:00)",
    "cron(0 9 * * ?)",
    "cron(0 9 * * * *)",
    "cron(0 9 ? * ? *)",
    "cron(61 9 * * ? *)",
    "cron(0 25 * * ? *)",
    "cron(0 9 32 * ? *)",
    "cron(0 9 ? * 8 *)",
    "cron(0 9 * 13 ? *)",
]
ZONES = ["UTC", "Europe/London", "America/New_York"]
BAD_ZONES = ["Europe/Londres", "", "GMT+25"]
OFF = {"Mode": "OFF"}
LAMBDA = "arn:aws:lambda:eu-west-2:000000000000:function:dunr-retrier"
QUEUE = "arn:aws:sqs:eu-west-2:000000000000:jobs"
ROLE = "arn:aws:iam::000000000000:role/start"


class Case:
    def __init__(self, seed, number):
        self.dice = random.Random(f"schedules/{seed}/{number}")
        self.number, self.steps = number, []

    def step(self, method, **wanted):
        self.steps.append({"service": "scheduler", "method": method, "with": wanted})

    def name(self):
        return f"retry-{self.number}-{self.dice.randrange(3)}"

    def place(self):
        """A name in the group, or in the default one."""
        grouped = self.dice.random() < 0.8
        return {"Name": self.name(), **({"GroupName": "dunr-retries"} if grouped else {})}

    def target(self):
        target = {"Arn": self.dice.choice([LAMBDA, QUEUE]), "RoleArn": ROLE}
        if self.dice.random() < 0.6:
            target["Input"] = f'{{"n":{self.dice.randint(1, 3)}}}'
        if self.dice.random() < 0.5:
            target["RetryPolicy"] = {
                "MaximumEventAgeInSeconds": self.dice.choice([60, 900, 86_400]),
                "MaximumRetryAttempts": self.dice.choice([0, 2, 185]),
            }
        if self.dice.random() < 0.3:
            target["DeadLetterConfig"] = {"Arn": f"{QUEUE}-dlq"}
        return target

    def definition(self):
        wanted = {
            "ScheduleExpression": self.dice.choice(GOOD),
            "FlexibleTimeWindow": OFF,
            "Target": self.target(),
        }
        optional = {
            "ScheduleExpressionTimezone": self.dice.choice(ZONES),
            "State": self.dice.choice(["ENABLED", "DISABLED"]),
            "ActionAfterCompletion": self.dice.choice(["DELETE", "NONE"]),
            "Description": "One retry.",
        }
        return wanted | {name: it for name, it in optional.items() if self.dice.random() < 0.4}

    def token(self):
        if self.number % 4 == 1 and self.dice.random() < 0.6:
            return {"ClientToken": f"token-{self.number}-{self.dice.randrange(2)}"}
        return {}

    def create(self):
        wanted = {**self.place(), **self.definition(), **self.token()}
        self.step("create_schedule", **wanted)
        if self.dice.random() < 0.3:
            self.step("create_schedule", **wanted)

    def update(self):
        self.step("update_schedule", **self.place(), **self.definition(), **self.token())

    def get(self):
        self.step("get_schedule", **self.place())

    def delete(self):
        self.step("delete_schedule", **self.place(), **self.token())

    def list(self):
        wanted = {"NamePrefix": f"retry-{self.number}-"}
        if self.dice.random() < 0.5:
            wanted["GroupName"] = "dunr-retries"
        if self.dice.random() < 0.3:
            wanted["State"] = self.dice.choice(["ENABLED", "DISABLED"])
        if self.dice.random() < 0.5:
            wanted["MaxResults"] = self.dice.choice([1, 2, 100])
        self.steps.append({"service": "scheduler", "method": "list_schedules", "with": wanted, "pages": True})

    def misdefine(self):
        wanted = {**self.place(), **self.definition()}
        target = wanted["Target"]
        wrong = self.dice.choice([
            *[{"ScheduleExpression": expression} for expression in BAD] * 2,
            *[{"ScheduleExpressionTimezone": zone} for zone in BAD_ZONES],
            {"FlexibleTimeWindow": {"Mode": "SOMETIMES"}},
            {"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}},
            {"FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 5}},
            {"FlexibleTimeWindow": {}},
            {"FlexibleTimeWindow": None},
            {"ActionAfterCompletion": "KEEP"},
            {"State": "PAUSED"},
            {"GroupName": "nobodys"},
            {"GroupName": "no group"},
            {"Name": "n" * 65},
            {"Name": "a name"},
            {"Description": "d" * 513},
            {"ScheduleExpression": None},
            {"Target": None},
            {"Target": {**target, "Arn": "nowhere"}},
            {"Target": {**target, "RoleArn": "nobody"}},
            {"Target": {"Arn": LAMBDA}},
            {"Target": {"RoleArn": ROLE}},
            {"Target": {**target, "Input": ""}},
            {"Target": {**target, "RetryPolicy": {"MaximumEventAgeInSeconds": 59}}},
            {"Target": {**target, "RetryPolicy": {"MaximumEventAgeInSeconds": 86_401}}},
            {"Target": {**target, "RetryPolicy": {"MaximumRetryAttempts": -1}}},
            {"Target": {**target, "RetryPolicy": {"MaximumRetryAttempts": 186}}},
            {"ClientToken": ""},
            {"ClientToken": "t" * 65},
        ])
        wanted = {name: it for name, it in (wanted | wrong).items() if it is not None}
        self.step("create_schedule", **wanted)


STEPS = {
    Case.create: 8,
    Case.update: 3,
    Case.get: 4,
    Case.delete: 4,
    Case.list: 2,
    Case.misdefine: 6,
}


def cases(seed, count):
    """In every second case all definitions are good: so it is compared to its end."""
    for number in range(count):
        case = Case(seed, number)
        steps = dict(STEPS)
        if number % 2 == 0:
            del steps[Case.misdefine]
        for _ in range(12):
            case.dice.choices(list(steps), list(steps.values()))[0](case)
        case.list()
        yield {"name": f"schedules {number}", "steps": case.steps}
