"""What happens to a message, an event or a start that goes wrong."""

import json

from schedule_rules import expression_fault, zone_fault
from template_model import acts_on, allowed, as_list

ONE_AT_A_TIME = {"bdc-jobs", "bdc-handovers", "dunr-mail"}
INPUTS = ('{"kind":"sweep"}', '{"kind":"digest"}', '{"kind":"summary"}')
TWO_WEEKS_S = 1_209_600
AN_HOUR_S = 3600


def schedules_are_valid_and_bounded(template, _root):
    for name, properties in template.of_type("AWS::Scheduler::Schedule"):
        target = properties["Target"]
        retry = target.get("RetryPolicy", {})
        faults = [
            expression_fault(properties["ScheduleExpression"]),
            zone_fault(template.text(properties.get("ScheduleExpressionTimezone", "UTC"))),
        ]
        if properties["FlexibleTimeWindow"]["Mode"] != "OFF":
            faults.append("the time window must be OFF")
        if retry.get("MaximumEventAgeInSeconds", 86_400) > AN_HOUR_S:
            faults.append("a start may be retried for more than an hour")
        if "MaximumRetryAttempts" not in retry:
            faults.append("a start is retried 185 times by default")
        if template.target(target.get("DeadLetterConfig", {}).get("Arn")) is None:
            faults.append("a start that can't be delivered is dropped")
        if target.get("Input") not in INPUTS:
            faults.append(f"the input is {target.get('Input')}")
        if not may_invoke(template, target):
            faults.append("its role may not start its target")
        yield from (f"{name}: {fault}" for fault in faults if fault)


def may_invoke(template, target):
    return any(
        "lambda:InvokeFunction" in as_list(statement["Action"])
        and acts_on(template, statement, template.target(target["Arn"]))
        for statement in allowed(template.statements(template.target(target["RoleArn"])))
    )


def rules_on_buses_are_valid(template, _root):
    for name, properties in template.of_type("AWS::Events::Rule"):
        if "ScheduleExpression" in properties:
            fault = expression_fault(properties["ScheduleExpression"])
            if fault:
                yield f"{name}: {fault}"


def queues_let_their_services_send(template, _root):
    """Delivery from SNS or EventBridge needs a queue policy: without one it fails in silence."""
    for name, properties in template.of_type("AWS::SNS::Subscription"):
        dead_letters = properties.get("RedrivePolicy", {}).get("deadLetterTargetArn")
        endpoint = properties["Endpoint"] if properties["Protocol"] == "sqs" else None
        for queue in (template.target(dead_letters), template.target(endpoint)):
            if queue and not may_send(template, queue, "sns.amazonaws.com", properties["TopicArn"]):
                yield f"{name}: {queue} has no policy for this topic"
    for name, properties in template.of_type("AWS::Events::Rule"):
        source = {"Fn::GetAtt": [name, "Arn"]}
        for target in properties.get("Targets", []):
            queue = template.target(target["Arn"])
            if template.resources.get(queue, {}).get("Type") != "AWS::SQS::Queue":
                continue
            if not may_send(template, queue, "events.amazonaws.com", source):
                yield f"{name}: {queue} has no policy for this rule"


def may_send(template, queue, service, source):
    return any(
        statement["Effect"] == "Allow"
        and statement.get("Principal") == {"Service": service}
        and as_list(statement["Action"]) == ["sqs:SendMessage"]
        and template.target(statement["Resource"]) == queue
        and statement.get("Condition") == {"ArnEquals": {"aws:SourceArn": source}}
        for _, policy in template.of_type("AWS::SQS::QueuePolicy")
        if queue in [template.target(each) for each in policy["Queues"]]
        for statement in policy["PolicyDocument"]["Statement"]
    )


def queues_outlast_their_functions(template, _root):
    timeouts = {name: p["Timeout"] for name, p in template.of_type("AWS::Lambda::Function")}
    for name, mapping in template.of_type("AWS::Lambda::EventSourceMapping"):
        queue = template.target(mapping["EventSourceArn"])
        if template.resources[queue]["Type"] != "AWS::SQS::Queue":
            continue
        properties = template.resources[queue]["Properties"]
        least = 6 * timeouts[template.target(mapping["FunctionName"])]
        least += mapping.get("MaximumBatchingWindowInSeconds", 0)
        if properties.get("VisibilityTimeout", 30) < least:
            yield f"{queue}: a message shows again in less than {least} s, while it is worked on"
        if properties["QueueName"] in ONE_AT_A_TIME and mapping.get("BatchSize") != 1:
            yield f"{name}: {properties['QueueName']} is to be worked one message at a time"
        if mapping.get("ScalingConfig", {}).get("MaximumConcurrency") is None:
            yield f"{name}: has no limit on concurrency"
        yield from dead_letter_faults(template, queue, properties)


def dead_letter_faults(template, queue, properties):
    redrive = properties.get("RedrivePolicy", {})
    dead_letters = template.target(redrive.get("deadLetterTargetArn"))
    if dead_letters is None:
        yield f"{queue}: has no dead-letter queue"
        return
    if redrive.get("maxReceiveCount") != 5:
        yield f"{queue}: dead letters after {redrive.get('maxReceiveCount')} receives, not 5"
    kept = template.resources[dead_letters]["Properties"].get("MessageRetentionPeriod", 345_600)
    if kept != TWO_WEEKS_S:
        yield f"{dead_letters}: keeps dead letters for {kept} s, not for two weeks"


def batches_fail_in_part(template, _root):
    for name, mapping in template.of_type("AWS::Lambda::EventSourceMapping"):
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"{name}: one bad record fails its whole batch"


def streams_get_past_a_bad_record(template, _root):
    for name, mapping in template.of_type("AWS::Lambda::EventSourceMapping"):
        if "StartingPosition" not in mapping:
            continue
        if not mapping.get("BisectBatchOnFunctionError"):
            yield f"{name}: does not bisect a failing batch"
        if not 0 <= mapping.get("MaximumRetryAttempts", -1) <= 20:
            yield f"{name}: retries a bad record until it expires"
        if "OnFailure" not in mapping.get("DestinationConfig", {}):
            yield f"{name}: drops a bad record in silence"
        patterns = [json.loads(f["Pattern"]) for f in mapping["FilterCriteria"]["Filters"]]
        if patterns != [{"eventName": ["INSERT"]}]:
            yield f"{name}: is called for more than new rows"


def events_have_an_end(template, _root):
    """An event that Lambda queues is tried for six hours and dropped, unless told otherwise."""
    limited = {
        template.target(properties["FunctionName"]): properties
        for _, properties in template.of_type("AWS::Lambda::EventInvokeConfig")
    }
    for name, properties in template.of_type("AWS::Scheduler::Schedule"):
        if template.target(properties["Target"]["Arn"]) not in limited:
            yield f"{name}: its target works off old starts for six hours"
    for name, properties in template.of_type("AWS::SNS::Subscription"):
        if properties["Protocol"] != "lambda":
            continue
        limits = limited.get(template.target(properties["Endpoint"]), {})
        if "OnFailure" not in limits.get("DestinationConfig", {}):
            yield f"{name}: a message that fails is dropped in silence"
        if "RedrivePolicy" not in properties:
            yield f"{name}: a message that can't be delivered is dropped in silence"


RULES = [
    schedules_are_valid_and_bounded,
    rules_on_buses_are_valid,
    queues_let_their_services_send,
    queues_outlast_their_functions,
    batches_fail_in_part,
    streams_get_past_a_bad_record,
    events_have_an_end,
]
