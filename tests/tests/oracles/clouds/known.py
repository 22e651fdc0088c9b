"""Where the imitations are known to disagree with the local cloud, and why it is right.

An entry is about one of the two others. It fits a step and both answers, or it mends the other's
answer before it is compared. What no entry fits fails the run, and so does an entry that nothing fits
any more. `docs/oracles.md` has them as a table, with what AWS's documentation says.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

READS = {"get_item", "query", "batch_get_item", "get_schedule", "list_schedules"}
KEYS = {"booking_id", "ts", "case_id"}
MESSAGE_REFUSALS = {"InvalidParameterValue", "InvalidMessageContents", "MissingParameter"}
PATH_IS_PATH = r"#\w+(\.#\w+|\[\d\])? = #"
NESTED = r'"ProjectionExpression": "[^"]*[.\[]'
REFUSED_BY_CONDITION = {"ConditionalCheckFailedException", "TransactionCanceledException"}


@dataclass(frozen=True)
class Known:
    who: str
    what: str
    fits: Callable = lambda step, ours, theirs: False
    mends: Callable = lambda step, theirs: theirs


def said(step):
    """Everything that a step says, as one text."""
    return json.dumps(step.get("with", step), default=bytes.hex)


def says(pattern):
    return lambda step: re.search(pattern, said(step)) is not None


def is_let_in(ours_code, when=lambda step: True):
    """Ours refuses with this code, and the other does it."""

    def fits(step, ours, theirs):
        return ours.get("error") == ours_code and "error" not in theirs and when(step)

    return fits


def otherwise_refused(*methods):
    """Both refuse, with codes or reasons that are not the same."""

    def fits(step, ours, theirs):
        return "error" in ours and "error" in theirs and step.get("method") in methods

    return fits


def holds_of_nothing(pattern):
    """A condition or filter of this kind stops ours and not the other."""

    def fits(step, ours, theirs):
        stopped = ours.get("error") in REFUSED_BY_CONDITION or step.get("method") == "query"
        return stopped and says(pattern)(step)

    return fits


def takes_a_message(step, ours, theirs):
    refused = ours.get("error") in MESSAGE_REFUSALS or ours.get("answer", {}).get("Failed")
    return step.get("method", "").startswith("send_message") and refused and "error" not in theirs


def removes_nowhere(step, ours, theirs):
    """A REMOVE of a path whose map or list is not there stops ours and not the other."""
    invalid = ours.get("error") == "ValidationException" or "ValidationError" in str(ours)
    return invalid and "error" not in theirs and says(r"REMOVE [^\"]*#\w+[.\[]")(step)


def ends_sooner(step, ours, theirs):
    """A query gives the same, and ours a last page with nothing."""
    ours, theirs = ours.get("answer"), theirs.get("answer")
    if step.get("method") != "query" or not ours or not theirs:
        return False
    full_and_last = [page[:2] + [False] if at == len(ours["pages"]) - 2 else page
                     for at, page in enumerate(ours["pages"][:-1])]
    return ours["items"] == theirs["items"] and full_and_last == theirs["pages"]


def shows_other_defaults(step, ours, theirs):
    """A schedule is shown the same but for what was left out when it was made."""
    if step.get("method") != "get_schedule" or "error" in ours or "error" in theirs:
        return False
    ours, theirs = dict(ours["answer"]), dict(theirs["answer"])
    for shown in (ours, theirs):
        for name in ("ActionAfterCompletion", "State", "Description"):
            shown.pop(name, None)
        shown["Target"] = {name: it for name, it in shown["Target"].items() if name != "RetryPolicy"}
    return ours == theirs


def of_schedules(fits):
    return lambda step, ours, theirs: step.get("service") == "scheduler" and fits(step, ours, theirs)


def lists_without_state(step, ours, theirs):
    if step.get("method") != "list_schedules" or "error" in ours or "error" in theirs:
        return False
    names = lambda answer: [{**it, "State": None} for it in answer["answer"]["schedules"]]
    return names(ours) == names(theirs)


def has_token(step, ours, theirs):
    return "ClientToken" in step.get("with", {})


def every(value, change):
    """The value with `change` made of each object in it, from inside."""
    if isinstance(value, dict):
        return change({name: every(it, change) for name, it in value.items()})
    if isinstance(value, list):
        return [every(it, change) for it in value]
    return value


def canonical(text):
    try:
        number = Decimal(text)
    except (InvalidOperation, TypeError):
        return text
    plain = format(number.normalize(), "f") if number else "0"
    return plain


def numbers_normalised(step, theirs):
    def change(value):
        if isinstance(value.get("N"), str):
            value = {**value, "N": canonical(value["N"])}
        if isinstance(value.get("NS"), list):
            value = {**value, "NS": sorted(canonical(it) for it in value["NS"])}
        return value

    return every(theirs, change)


def without_empty_metrics(step, theirs):
    answer = theirs.get("answer")
    if isinstance(answer, dict) and answer.get("ItemCollectionMetrics") == {}:
        kept = {name: it for name, it in answer.items() if name != "ItemCollectionMetrics"}
        return {"answer": kept}
    return theirs


def updated_without_key(step, theirs):
    attributes = theirs.get("answer", {}).get("Attributes") if "answer" in theirs else None
    if attributes and str(step["with"].get("ReturnValues")).startswith("UPDATED"):
        kept = {name: it for name, it in attributes.items() if name not in KEYS}
        return {"answer": {"Attributes": kept} if kept else {}}
    return theirs


def known_of_both(who):
    """What moto and ministack have in common."""
    return [
        Known(who, "two attributes are equal if neither is there", holds_of_nothing(PATH_IS_PATH)),
        Known(who, "takes messages that SQS refuses", takes_a_message),
        Known(
            who,
            "makes schedules that Scheduler refuses",
            of_schedules(is_let_in("ValidationException")),
        ),
        Known(
            who,
            "another code where a schedule is refused for two reasons",
            otherwise_refused("create_schedule", "update_schedule"),
        ),
        Known(who, "does not follow ClientToken", of_schedules(has_token)),
        Known(who, "shows other defaults of a schedule", shows_other_defaults),
    ]


def without_empty_attributes(step, theirs):
    return {"answer": {}} if theirs == {"answer": {"Attributes": {}}} else theirs


KNOWN = [
    Known("moto", "keeps a number as it was written", mends=numbers_normalised),
    Known("moto", "tells metrics that nobody asked for", mends=without_empty_metrics),
    Known("moto", "tells the key among what was updated", mends=updated_without_key),
    Known(
        "moto",
        "ends in an error of its own where a condition compares what is not there",
        lambda step, ours, theirs: theirs.get("error") == "500",
    ),
    Known("moto", "what is not there is IN a list with NULL", holds_of_nothing(r" IN \(")),
    Known(
        "moto",
        "refuses to project a path that is not there",
        lambda step, ours, theirs: theirs.get("error") == "ValidationException" and says(NESTED)(step),
    ),
    Known("moto", "ends a query at a page that is full and the last", ends_sooner),
    Known(
        "moto",
        "writes an item twice in one batch",
        is_let_in("ValidationException", says('"PutRequest"|"DeleteRequest"')),
    ),
    Known(
        "moto",
        "has other reasons for a transaction's end",
        otherwise_refused("transact_write_items"),
    ),
    Known("moto", "an update of a schedule forgets its state", lists_without_state),
    *known_of_both("moto"),
    Known("ministack", "removes from what is not there", removes_nowhere),
    Known(
        "ministack",
        "calculates beyond 38 digits",
        is_let_in("ValidationException", says("UpdateExpression.*[+-]")),
    ),
    Known(
        "ministack",
        "looks at a condition before it looks at an operand's type",
        otherwise_refused("update_item", "transact_write_items"),
    ),
    Known("ministack", "tells that no attributes were updated", mends=without_empty_attributes),
    *known_of_both("ministack"),
]


class Report:
    """What was compared, what disagreed, and as what it is known."""

    def __init__(self):
        self.unknown, self.seen, self.compared = [], Counter(), Counter()

    def compare(self, other, case, ours, theirs):
        """Compares a case up to where the two no longer stand at the same."""
        for step, our, their in zip(case["steps"], ours, theirs, strict=True):
            self.compared[other] += 1
            their = self.mended(other, step, our, their)
            if our == their:
                continue
            fits = (it for it in KNOWN if it.who == other and it.fits(step, our, their))
            known = next(fits, None)
            if known is None:
                self.unknown.append(told(other, case, step, our, their))
            else:
                self.seen[known] += 1
            if step.get("method") not in READS:
                return

    def mended(self, other, step, ours, theirs):
        for known in KNOWN:
            if known.who == other and theirs != ours:
                mended = known.mends(step, theirs)
                if mended != theirs:
                    self.seen[known] += 1
                theirs = mended
        return theirs

    def unseen(self):
        return [it for it in KNOWN if it not in self.seen]


def told(other, case, step, ours, theirs):
    text = lambda value: json.dumps(value, default=bytes.hex, ensure_ascii=False)[:1500]
    what = step.get("with", step)
    return "\n".join([
        f"{case['name']}: {step.get('method', 'step')} {text(what)}",
        f"    ours {text(ours)}",
        f"    {other} {text(theirs)}",
    ])
