"""What is deployed: tables, functions, alarms, the budget, and whether it fits."""

import re
import tomllib

from template_model import function_names

RESOURCES_MAX = 450  # CloudFormation stops at 500
BODY_BYTES_MAX = 900_000  # and at 1 MB
WITHOUT_MONEY_FACTS = {"bdc-idempotency"}


def tables_keep_what_matters(template, _root):
    for name, properties in template.of_type("AWS::DynamoDB::Table"):
        resource = template.resources[name]
        if properties.get("BillingMode") != "PAY_PER_REQUEST":
            yield f"{name}: not on demand"
        if not properties.get("PointInTimeRecoverySpecification", {}).get(
            "PointInTimeRecoveryEnabled"
        ):
            yield f"{name}: no point-in-time recovery"
        if properties["TableName"] in WITHOUT_MONEY_FACTS:
            continue
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if resource.get(policy) != "Retain":
                yield f"{name}: {policy} must be Retain"
        if properties.get("DeletionProtectionEnabled") is not True:
            yield f"{name}: not protected against deletion"


def functions_stand_alone(template, _root):
    users = {}
    for name, properties in template.functions():
        deployed = template.text(properties.get("FunctionName", ""))
        role = template.target(properties.get("Role"))
        if role is None or role in users:
            yield f"{name}: has no role of its own"
        users[role] = name
        own = template.raw["Resources"][name]["Properties"]
        if "Timeout" not in own:
            yield f"{name}: says no time-out"
        if "ReservedConcurrentExecutions" in properties:
            yield f"{name}: reserves concurrency, which a new account does not have"
        if properties.get("Tracing", "PassThrough") != "PassThrough":
            yield f"{name}: traces with X-Ray"
        if properties.get("Runtime") != "provided.al2023":
            yield f"{name}: not on provided.al2023"
        if properties.get("Architectures") != ["arm64"]:
            yield f"{name}: not on arm64"
        group = template.target(own.get("LoggingConfig", {}).get("LogGroup"))
        logs = template.resources.get(group, {}).get("Properties", {})
        if logs.get("LogGroupName") != f"/aws/lambda/{deployed}":
            yield f"{name}: does not log to /aws/lambda/{deployed}"
        if logs.get("RetentionInDays") != 7:
            yield f"{name}: keeps its logs for {logs.get('RetentionInDays')} days, not 7"


def functions_are_the_folders(template, root):
    packages = {
        tomllib.loads(manifest.read_text())["package"]["name"]: manifest.parent
        for manifest in root.glob("functions/**/Cargo.toml")
    }
    built = set()
    for name, properties in template.functions():
        metadata = template.raw["Resources"][name].get("Metadata", {})
        binary = metadata.get("BuildProperties", {}).get("Binary")
        built.add(binary)
        if metadata.get("BuildMethod") != "rust-cargolambda":
            yield f"{name}: is not built with cargo-lambda"
        if binary not in (properties["FunctionName"], "relay"):
            yield f"{name}: {properties['FunctionName']} would run {binary}"
        folder = packages.get(binary)
        if folder and root / properties.get("CodeUri", "") != folder:
            yield f"{name}: {binary} is built in {folder.relative_to(root)}"
    for package in sorted(packages.keys() - built):
        yield f"functions: {package} is not deployed"
    for binary in sorted(str(each) for each in built - packages.keys()):
        yield f"functions: there is no package {binary}"


KINDS = {
    "_TABLE": "AWS::DynamoDB::Table",
    "_QUEUE": "AWS::SQS::Queue",
    "_SECRET": "AWS::SecretsManager::Secret",
    "_BUCKET": "AWS::S3::Bucket",
}


def variables_resolve(template, _root):
    for name, properties in template.of_type("AWS::Lambda::Function"):
        variables = properties.get("Environment", {}).get("Variables", {})
        for variable, value in variables.items():
            kind = next((k for ending, k in KINDS.items() if variable.endswith(ending)), None)
            target = template.target(value)
            known = target is None or target in template.resources or target in template.parameters
            if not known or (isinstance(value, dict) and target is None):
                yield f"{name}: {variable} names {target}, which is not there"
            elif kind and template.resources.get(target, {}).get("Type") != kind:
                yield f"{name}: {variable} is not a {kind}"


def budgets_warn_in_time(template, _root):
    budgets = list(template.of_type("AWS::Budgets::Budget"))
    for missing in sorted({"MonthlyBudget", "DunrBudget"} - {name for name, _ in budgets}):
        yield f"there is no budget {missing}"
    for name, properties in budgets:
        budget = properties["Budget"]
        if budget["BudgetLimit"]["Unit"] != "USD" or budget["TimeUnit"] != "MONTHLY":
            yield f"{name}: must be in USD and MONTHLY"
        if budget["BudgetType"] != "COST":
            yield f"{name}: must be a COST budget"
        notices = properties.get("NotificationsWithSubscribers", [])
        levels = [
            notice["Notification"]["Threshold"]
            for notice in notices
            if notice["Notification"]["ThresholdType"] == "PERCENTAGE" and notice["Subscribers"]
        ]
        if levels != [80, 100]:
            yield f"{name}: warns at {levels}, not at 80 and 100 percent"


def alarms_reach_someone(template, _root):
    watched = set()
    for name, properties in template.of_type("AWS::CloudWatch::Alarm"):
        if [template.target(a) for a in properties.get("AlarmActions", [])] != ["AlarmTopic"]:
            yield f"{name}: tells nobody"
        watched |= metrics_of(template, properties)
    wanted = {
        ("signature_fail", "BdcWebhookFunction"),
        ("outbox_oldest_pending_s", "BdcRelayFunction"),
        ("signature_fail", "DunrWebhookFunction"),
        ("outbox_oldest_pending_s", "DunrRelayFunction"),
        ("sweep_failures", "DunrSweepFunction"),
        ("holiday_data_days_left", "DunrSweepFunction"),
        ("Reputation.ComplaintRate", "DunrMailConfiguration"),
    }
    for queue, properties in template.of_type("AWS::SQS::Queue"):
        if properties["QueueName"].endswith("-dlq"):
            wanted.add(("ApproximateNumberOfMessagesVisible", queue))
    for function in function_names(template):
        wanted |= {("Errors", function), ("Throttles", function)}
    for metric, source in sorted(wanted - watched):
        yield f"no alarm watches {metric} of {source}"


def alarms_name_their_runbook(template, root):
    for name, properties in template.of_type("AWS::CloudWatch::Alarm"):
        runbook = re.search(r"Runbook ([a-z-]+)\.$", properties.get("AlarmDescription", ""))
        if not runbook or not (root / f"docs/runbooks/{runbook[1]}.md").is_file():
            yield f"{name}: names no runbook that there is"


def metrics_of(template, alarm):
    """Returns the (metric, logical id of its source) pairs that an alarm looks at."""
    single = [alarm] if "MetricName" in alarm else []
    math = [m["MetricStat"]["Metric"] for m in alarm.get("Metrics", []) if "MetricStat" in m]
    return {
        (metric["MetricName"], template.target(dimension["Value"]))
        for metric in single + math
        for dimension in metric["Dimensions"]
    }


SYSTEMS = {
    "Bdc": ("booking", {"BookingOn"}),
    "Dunr": ("dunning", {"DunningOn", "DunningHasAlarmEmail"}),
}


def systems_can_be_switched_off(template, _root):
    for name, resource in template.raw["Resources"].items():
        for prefix, (system, conditions) in SYSTEMS.items():
            if name.startswith(prefix) and resource.get("Condition") not in conditions:
                yield f"{name}: is deployed although {system} is off"


def the_model_is_the_profiles(template, _root):
    profile, model = template.reference("ModelId"), template.reference("FoundationModelId")
    if profile != f"global.{model}":
        yield f"FoundationModelId: {model} is not the model of {profile}"


def the_template_fits(template, _root):
    if len(template.resources) >= RESOURCES_MAX:
        yield f"{len(template.resources)} resources; CloudFormation stops at 500"
    if len(template.body()) >= BODY_BYTES_MAX:
        yield f"{len(template.body())} bytes; CloudFormation stops at 1 MB"


RULES = [
    tables_keep_what_matters,
    functions_stand_alone,
    functions_are_the_folders,
    variables_resolve,
    budgets_warn_in_time,
    alarms_reach_someone,
    alarms_name_their_runbook,
    systems_can_be_switched_off,
    the_model_is_the_profiles,
    the_template_fits,
]
