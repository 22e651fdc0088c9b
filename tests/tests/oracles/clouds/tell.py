"""Tells a place a call, and brings its answer into a form that can be compared."""

from botocore.exceptions import ClientError

PAGES_MAX = 50
# Ids and instants that each makes for itself, and the meter.
OF_ITS_OWN = {
    "ResponseMetadata",
    "ConsumedCapacity",
    # Texts of refusals, as those of a batch's entries.
    "Message",
    "MessageId",
    "CreationDate",
    "LastModificationDate",
    "SentTimestamp",
    "SenderId",
    "ApproximateFirstReceiveTimestamp",
}


def tell(place, step):
    """Returns the answer of one step: `{"answer": …}` or `{"error": code, …}`."""
    if "clock" in step:
        place.move(step["clock"])
        return {}
    try:
        if "drain" in step:
            return {"answer": drain(place, step["drain"])}
        call = getattr(place.clients[step["service"]], step["method"])
        wanted = resolved(place, step["with"])
        if step.get("pages"):
            read = query if step["method"] == "query" else schedules
            return {"answer": read(call, wanted)}
        answer = call(**wanted)
        if step["method"] == "receive_message":
            answer["Messages"] = remembered(place, answer)
        return {"answer": plain(answer)}
    except ClientError as error:
        return refusal(error.response)


def refusal(response):
    told = {"error": response["Error"]["Code"]}
    if "CancellationReasons" in response:
        told["reasons"] = [
            plain({name: reason[name] for name in ("Code", "Item") if reason.get(name)})
            for reason in response["CancellationReasons"]
        ]
    if response.get("Item"):
        told["item"] = plain(response["Item"])
    return told


def query(call, wanted):
    """Reads a query to its end: its items, and the sizes of its pages."""
    items, sizes = [], []
    for _ in range(PAGES_MAX):
        page = call(**wanted)
        items += page.get("Items", [])
        sizes.append([page["Count"], page["ScannedCount"], "LastEvaluatedKey" in page])
        if "LastEvaluatedKey" not in page:
            break
        wanted = {**wanted, "ExclusiveStartKey": page["LastEvaluatedKey"]}
    return {"items": plain(items), "pages": sizes}


def schedules(call, wanted):
    listed, sizes = [], []
    for _ in range(PAGES_MAX):
        page = call(**wanted)
        listed += page["Schedules"]
        sizes.append(len(page["Schedules"]))
        if not page.get("NextToken"):
            break
        wanted = {**wanted, "NextToken": page["NextToken"]}
    # In which order they come is not promised.
    listed.sort(key=lambda schedule: (schedule["GroupName"], schedule["Name"]))
    return {"schedules": plain(listed), "pages": sizes}


def resolved(place, wanted):
    """`@jobs` as the queue's URL, and a message's text as the handle that it was received with."""
    wanted = dict(wanted)
    if wanted.get("QueueUrl", "").startswith("@"):
        wanted["QueueUrl"] = place.queues[wanted["QueueUrl"][1:]]
    if wanted.get("ReceiptHandle", "").startswith("@"):
        handle = place.handles.get(wanted["ReceiptHandle"][1:], "never received")
        wanted["ReceiptHandle"] = handle
    return wanted


def remembered(place, answer):
    """The messages in the order of their texts, without their handles, which are kept."""
    messages = sorted(answer.get("Messages", []), key=lambda message: message["Body"])
    for message in messages:
        place.handles[message["Body"]] = message.pop("ReceiptHandle")
        # Which of the times and senders are told is compared, not what they are.
        for name in set(message.get("Attributes", {})) & OF_ITS_OWN:
            message["Attributes"][f"has {name}"] = True
    return messages


def drain(place, queue):
    """Receives and deletes until nothing comes any more."""
    sqs, url = place.clients["sqs"], place.queues[queue]
    drained = []
    for _ in range(PAGES_MAX):
        got = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
        )
        for message in got.get("Messages", []):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            drained.append([message["Body"], message["Attributes"]["ApproximateReceiveCount"]])
        if not got.get("Messages"):
            break
    return sorted(drained)


def plain(value):
    """Without what each makes for itself; sets in one order, bytes as text."""
    if isinstance(value, dict):
        kept = {name: plain(it) for name, it in value.items() if name not in OF_ITS_OWN}
        for kind in ("SS", "NS", "BS"):
            if isinstance(kept.get(kind), list):
                kept[kind] = sorted(kept[kind])
        return kept
    if isinstance(value, (list, tuple)):
        return [plain(it) for it in value]
    if isinstance(value, bytes):
        return value.hex()
    return value
