"""Makes in a place what the template says; the local cloud has it already."""

import json


def of_kind(template, kind):
    for resource in template["Resources"].values():
        if resource["Type"] == f"AWS::{kind}":
            yield resource["Properties"]


def equip(place, template):
    for table in of_kind(template, "DynamoDB::Table"):
        place.clients["dynamodb"].create_table(**table)
    for group in of_kind(template, "Scheduler::ScheduleGroup"):
        place.clients["scheduler"].create_schedule_group(**group)
    queues = list(of_kind(template, "SQS::Queue"))
    # A dead-letter queue comes before the queue that names it.
    for queue in sorted(queues, key=lambda queue: "RedrivePolicy" in queue):
        attributes = {
            name: json.dumps(value) if isinstance(value, dict) else str(value)
            for name, value in queue.items()
            if name != "QueueName"
        }
        made = place.clients["sqs"].create_queue(
            QueueName=queue["QueueName"], Attributes=attributes
        )
        place.queues[queue["QueueName"]] = made["QueueUrl"]


def find(place, template):
    for queue in of_kind(template, "SQS::Queue"):
        name = queue["QueueName"]
        place.queues[name] = f"https://sqs.eu-west-2.amazonaws.com/000000000000/{name}"
