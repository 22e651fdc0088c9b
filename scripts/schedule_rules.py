"""What EventBridge takes as a schedule: expressions and time zones."""

import re
from zoneinfo import available_timezones

MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
DAYS = "SUN MON TUE WED THU FRI SAT".split()
# Minutes, hours, day of month, month, day of week, year: least and greatest value, names from 1.
FIELDS = [
    (0, 59, []),
    (0, 23, []),
    (1, 31, []),
    (1, 12, MONTHS),
    (1, 7, DAYS),
    (1970, 2199, []),
]


def expression_fault(expression):
    """Returns what is wrong with a schedule expression, or None."""
    rate = re.fullmatch(r"rate\(([1-9]\d*) (minute|hour|day)(s?)\)", expression)
    if rate:
        plural = rate[3] == "s"
        return None if plural == (rate[1] != "1") else f"{expression}: singular and plural differ"
    if re.fullmatch(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)", expression):
        return None
    cron = re.fullmatch(r"cron\((.+)\)", expression)
    if not cron:
        return f"{expression}: neither rate, cron nor at"
    return cron_fault(expression, cron[1].split())


def cron_fault(expression, fields):
    if len(fields) != len(FIELDS):
        return f"{expression}: has {len(fields)} fields, not 6"
    if [fields[2], fields[4]].count("?") != 1:
        return f"{expression}: exactly one of day of month and day of week must be ?"
    for text, (least, greatest, names) in zip(fields, FIELDS, strict=True):
        if text not in ("*", "?") and not all(
            part_is_valid(part, least, greatest, names) for part in text.split(",")
        ):
            return f"{expression}: {text} is not valid there"
    return None


def part_is_valid(part, least, greatest, names):
    special = re.fullmatch(r"L|LW|(\d+)W|(\w+)L|(\w+)#[1-5]", part)
    if special and greatest in (31, 7):
        value = special[1] or special[2] or special[3]
        return value is None or in_range(value, least, greatest, names)
    base, _, step = part.partition("/")
    if step and not step.isdigit():
        return False
    ends = base.split("-")
    return base == "*" or (
        len(ends) <= 2 and all(in_range(end, least, greatest, names) for end in ends)
    )


def in_range(value, least, greatest, names):
    if value.upper() in names:
        return True
    return value.isdigit() and least <= int(value) <= greatest


def zone_fault(zone):
    """Returns what is wrong with an IANA zone, or None."""
    return None if zone in available_timezones() else f"{zone} is not a time zone"
