"""Who may do what: roles, policies, permissions, secrets."""

import json
from fnmatch import fnmatchcase

from template_model import acts_on, allowed, as_list, function_names

PUBLIC = {
    "bdc-intake",
    "bdc-webhook",
    "bdc-cashier",
    "dunr-webhook",
    "dunr-gatekeeper",
    "dunr-portal",
}

# Names that are made while it runs, so that only their beginning can be written down.
PREFIXES = {
    (
        "DunrSchedulerRole",
        "arn:aws:scheduler:eu-west-2:111122223333:schedule/<DunrScheduleGroup>/dunr-retry-*",
    ),
    ("DunrMailerRole", "<DunrAssetsBucket.Arn>/templates/*"),
    ("DunrSummaryRole", "<DunrAssetsBucket.Arn>/reports/*"),
}


def actions_are_named(template, _root):
    for role, _ in template.of_type("AWS::IAM::Role"):
        for statement in template.statements(role):
            for inverse in ("NotAction", "NotResource"):
                if inverse in statement:
                    yield f"{role}: {inverse} grants what is not named"
            for action in as_list(statement.get("Action", [])):
                if "*" in action:
                    yield f"{role}: the action {action} is a wildcard"


def resources_are_named(template, _root):
    for role, properties in template.of_type("AWS::IAM::Role"):
        if properties.get("ManagedPolicyArns"):
            yield f"{role}: managed policies are not exact"
        for statement in allowed(template.statements(role)):
            for resource in as_list(statement.get("Resource", [])):
                text = template.text(resource)
                own_streams = ":log-group:/aws/lambda/" in text and text.count("*") == 1
                if (
                    "*" in text
                    and not own_streams
                    and (role, text) not in PREFIXES
                    and not is_text_message(template, role, statement)
                ):
                    yield f"{role}: the resource {text} is a wildcard"


def is_text_message(template, role, statement):
    """Whether this is one of the two statements that may say `*`: a phone has no ARN."""
    actions = as_list(statement["Action"])
    if role != "BdcComposerRole":
        return False
    if actions == ["sns:CheckIfPhoneNumberIsOptedOut"]:
        return True
    return actions == ["sns:Publish"] and any(
        other["Effect"] == "Deny"
        and as_list(other["Action"]) == ["sns:Publish"]
        and template.text(other["Resource"]) == "arn:aws:sns:*:*:*"
        for other in template.statements(role)
    )


def roles_trust_one_service(template, _root):
    started_by = {"lambda.amazonaws.com": set(), "scheduler.amazonaws.com": set()}
    for _, properties in template.of_type("AWS::Lambda::Function"):
        started_by["lambda.amazonaws.com"].add(template.target(properties["Role"]))
        # What a function gives to the schedules that it makes.
        variables = properties.get("Environment", {}).get("Variables", {})
        started_by["scheduler.amazonaws.com"].add(
            template.target(variables.get("SCHEDULES_ROLE_ARN"))
        )
    for _, properties in template.of_type("AWS::Scheduler::Schedule"):
        started_by["scheduler.amazonaws.com"].add(template.target(properties["Target"]["RoleArn"]))
    for role, properties in template.of_type("AWS::IAM::Role"):
        wanted = [service for service, roles in started_by.items() if role in roles]
        trusted = [s["Principal"] for s in properties["AssumeRolePolicyDocument"]["Statement"]]
        if trusted != [{"Service": service} for service in wanted]:
            yield f"{role}: trusted by {json.dumps(trusted)}, used by {wanted}"


def resource_policies_name_a_service(template, _root):
    for kind in ("AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy"):
        for name, properties in template.of_type(kind):
            for statement in allowed(properties["PolicyDocument"]["Statement"]):
                principal = statement.get("Principal")
                if not isinstance(principal, dict) or set(principal) != {"Service"}:
                    yield f"{name}: the principal {json.dumps(principal)} is not one service"
                conditions = json.dumps(statement.get("Condition", {}))
                if "aws:SourceA" not in conditions:
                    yield f"{name}: any account's {json.dumps(principal)} may call"


def permissions_name_a_source(template, _root):
    for name, properties in template.of_type("AWS::Lambda::Permission"):
        by_url = "FunctionUrlAuthType" in properties or "InvokedViaFunctionUrl" in properties
        if not by_url and (properties["Principal"] == "*" or "SourceArn" not in properties):
            yield f"{name}: open to {properties['Principal']} without a SourceArn"


def public_urls_have_both_permissions(template, _root):
    names = function_names(template)
    for url, properties in template.of_type("AWS::Lambda::Url"):
        function = template.target(properties["TargetFunctionArn"])
        if names.get(function) not in PUBLIC:
            yield f"{url}: {names.get(function)} is not to have a public URL"
        grants = [
            grant
            for _, grant in template.of_type("AWS::Lambda::Permission")
            if template.target(grant["FunctionName"]) == function and grant["Principal"] == "*"
        ]
        if properties["AuthType"] != "NONE":
            yield f"{url}: the callers can't sign, so AuthType must be NONE"
        if not any(
            grant["Action"] == "lambda:InvokeFunctionUrl"
            and grant.get("FunctionUrlAuthType") == "NONE"
            for grant in grants
        ):
            yield f"{url}: answers 403 without lambda:InvokeFunctionUrl for everybody"
        if not any(
            grant["Action"] == "lambda:InvokeFunction"
            and grant.get("InvokedViaFunctionUrl") is True
            for grant in grants
        ):
            yield f"{url}: answers 403 without lambda:InvokeFunction by way of the URL"
    for function, name in names.items():
        if name in PUBLIC and not any(
            template.target(p["TargetFunctionArn"]) == function
            for _, p in template.of_type("AWS::Lambda::Url")
        ):
            yield f"{name}: has no Function URL"


def roles_follow_the_variables(template, _root):
    """A function reads the tables and secrets that its variables name, and no others."""
    for name, properties in template.of_type("AWS::Lambda::Function"):
        variables = properties.get("Environment", {}).get("Variables", {})
        named = {
            template.target(v) for k, v in variables.items() if k.endswith(("_TABLE", "_SECRET"))
        }
        granted = set()
        for statement in allowed(template.statements(template.target(properties["Role"]))):
            granted |= {data for data in data_of(template) if acts_on(template, statement, data)}
        for data in sorted(named - granted):
            yield f"{name}: has a variable for {data} and may not touch it"
        for data in sorted(granted - named):
            yield f"{name}: may touch {data} and has no variable for it"


def data_of(template):
    return [
        name
        for kind in ("AWS::DynamoDB::Table", "AWS::SecretsManager::Secret")
        for name, _ in template.of_type(kind)
    ]


def only_the_webhook_says_paid(template, _root):
    for role, _ in template.of_type("AWS::IAM::Role"):
        statements = template.statements(role)
        writes = {
            action
            for statement in allowed(statements)
            if acts_on(template, statement, "BdcBookingsTable")
            for action in as_list(statement["Action"])
            if action in ("dynamodb:PutItem", "dynamodb:UpdateItem")
        }
        if not writes:
            continue
        kept_off = any(is_payment_denial(template, statement) for statement in statements)
        if role == "BdcWebhookRole" and (kept_off or "dynamodb:PutItem" in writes):
            yield f"{role}: must confirm bookings, and must not create them"
        if role != "BdcWebhookRole" and not kept_off:
            yield f"{role}: could write payment_ref, and so confirm a booking"


def is_payment_denial(template, statement):
    return (
        statement["Effect"] == "Deny"
        and acts_on(template, statement, "BdcBookingsTable")
        and set(as_list(statement["Action"])) == {"dynamodb:PutItem", "dynamodb:UpdateItem"}
        and statement.get("Condition")
        == {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["payment_ref"]}}
    )


def few_roles_reach_model_and_people(template, _root):
    only = {
        "bedrock:InvokeModel": ["BdcComposerRole", "DunrMailerRole", "DunrSummaryRole"],
        "sns:Publish": ["BdcComposerRole"],
        "ses:SendEmail": [
            "BdcComposerRole",
            "BdcEscalatorRole",
            "DunrMailerRole",
            "DunrSummaryRole",
        ],
    }
    for role, _ in template.of_type("AWS::IAM::Role"):
        for statement in allowed(template.statements(role)):
            for action in as_list(statement["Action"]):
                if role not in only.get(action, [role]):
                    yield f"{role}: {action} is for {' and '.join(only[action])} alone"
                if action.startswith("dynamodb:Delete") and role in only["bedrock:InvokeModel"]:
                    yield f"{role}: must not delete anything"


AUDIT_TABLES = ("BdcAuditTable", "DunrLogTable")


def audit_is_append_only(template, _root):
    for role, _ in template.of_type("AWS::IAM::Role"):
        for statement in allowed(template.statements(role)):
            if not any(acts_on(template, statement, table) for table in AUDIT_TABLES):
                continue
            for action in as_list(statement["Action"]):
                if action not in ("dynamodb:PutItem", "dynamodb:Query", "dynamodb:GetItem"):
                    yield f"{role}: {action} on the audit table, which is append-only"


def secrets_are_not_in_the_template(template, _root):
    for name, properties in template.of_type("AWS::SecretsManager::Secret"):
        text = str(properties.get("SecretString", ""))
        if any(fnmatchcase(text, pattern) for pattern in ("*whsec_*", "*sk_*", "*rk_*")):
            yield f"{name}: holds a secret in plain sight"


RULES = [
    actions_are_named,
    resources_are_named,
    roles_trust_one_service,
    resource_policies_name_a_service,
    permissions_name_a_source,
    public_urls_have_both_permissions,
    roles_follow_the_variables,
    only_the_webhook_says_paid,
    few_roles_reach_model_and_people,
    audit_is_append_only,
    secrets_are_not_in_the_template,
]
