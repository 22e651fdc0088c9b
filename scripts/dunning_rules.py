"""What only dunning must keep: who charges, who says who has access, mail's feedback, the bucket."""

import json

from template_model import acts_on, allowed, as_list

WRITES = {"dynamodb:PutItem", "dynamodb:UpdateItem"}
SAY_ACCESS = {"DunrRetrierRole", "DunrGatekeeperRole"}
ACCESS = {"access", "access_by"}
# Each secret of dunning, and the roles that may read it.
READERS = {
    "DunrApiKeySecret": {"DunrRetrierRole"},
    "DunrPortalKeySecret": {"DunrPortalRole"},
    "DunrTokensSecret": {"DunrGatekeeperRole"},
    "DunrWebhookSecret": {"DunrWebhookRole"},
    "DunrLinksSecret": {"DunrMailerRole", "DunrPortalRole"},
}


def only_the_retrier_can_charge(template, _root):
    """Whoever reads the key can take money with it."""
    for secret, wanted in READERS.items():
        readers = {
            role
            for role, _ in template.of_type("AWS::IAM::Role")
            if any(acts_on(template, each, secret) for each in allowed(template.statements(role)))
        }
        if readers != wanted:
            yield f"{secret}: read by {sorted(readers)}, not by {sorted(wanted)}"


def few_say_who_has_access(template, _root):
    for role, _ in template.of_type("AWS::IAM::Role"):
        statements = template.statements(role)
        writes = [
            statement
            for statement in allowed(statements)
            if acts_on(template, statement, "DunrDunningTable")
            and WRITES & set(as_list(statement["Action"]))
        ]
        kept_off = any(is_access_denial(template, statement) for statement in statements)
        if role in SAY_ACCESS and (kept_off or not writes):
            yield f"{role}: must be able to write {' and '.join(sorted(ACCESS))}"
        if writes and role not in SAY_ACCESS and not kept_off:
            yield f"{role}: could write {' and '.join(sorted(ACCESS))}, and so shut a customer out"
        for statement in writes:
            named = statement.get("Condition", {}).get("ForAllValues:StringEquals", {})
            if role == "DunrGatekeeperRole" and not ACCESS <= set(
                named.get("dynamodb:Attributes", [])
            ):
                yield f"{role}: may write more than access"


def is_access_denial(template, statement):
    condition = statement.get("Condition", {})
    attributes = condition.get("ForAnyValue:StringEquals", {}).get("dynamodb:Attributes", [])
    return (
        statement["Effect"] == "Deny"
        and acts_on(template, statement, "DunrDunningTable")
        and set(as_list(statement["Action"])) == WRITES
        and list(condition) == ["ForAnyValue:StringEquals"]
        and set(attributes) == ACCESS
    )


def retries_start_the_retrier_alone(template, _root):
    """The role that the one-off schedules run as is given away by `iam:PassRole`."""
    start = [
        statement
        for statement in allowed(template.statements("DunrRetriesRole"))
        if "lambda:InvokeFunction" in as_list(statement["Action"])
    ]
    targets = [template.target(r) for s in start for r in as_list(s["Resource"])]
    if targets != ["DunrRetrierFunction"]:
        yield f"DunrRetriesRole: starts {targets}, not the retrier alone"
    for role, properties in template.of_type("AWS::IAM::Role"):
        for trust in properties["AssumeRolePolicyDocument"]["Statement"]:
            own = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
            if (
                trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
                and trust.get("Condition") != own
            ):
                yield f"{role}: any account's schedules may run as it"
        for statement in allowed(template.statements(role)):
            if "iam:PassRole" not in as_list(statement["Action"]):
                continue
            passed = [template.target(each) for each in as_list(statement["Resource"])]
            if role != "DunrSchedulerRole" or passed != ["DunrRetriesRole"]:
                yield f"{role}: passes {passed}"
            to = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
            if statement.get("Condition") != to:
                yield f"{role}: passes a role to any service"


def schedules_belong_to_the_scheduler(template, _root):
    for role, _ in template.of_type("AWS::IAM::Role"):
        for statement in allowed(template.statements(role)):
            actions = [a for a in as_list(statement["Action"]) if a.startswith("scheduler:")]
            if actions and role != "DunrSchedulerRole":
                yield f"{role}: {' and '.join(actions)} is for DunrSchedulerRole alone"


def buckets_are_private_and_kept(template, _root):
    block = ["BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"]
    for name, properties in template.of_type("AWS::S3::Bucket"):
        public = properties.get("PublicAccessBlockConfiguration", {})
        if not all(public.get(each) is True for each in block):
            yield f"{name}: could be made public"
        if properties.get("VersioningConfiguration") != {"Status": "Enabled"}:
            yield f"{name}: a bad edit can't be undone"
        if "BucketEncryption" not in properties:
            yield f"{name}: says nothing of encryption"
        rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
        if not any("NoncurrentVersionExpiration" in rule for rule in rules):
            yield f"{name}: keeps old versions for ever"
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            if template.resources[name].get(policy) != "Retain":
                yield f"{name}: {policy} must be Retain"
        if not any(refuses_plain_http(template, name, p) for p in bucket_policies(template)):
            yield f"{name}: answers without TLS"


def bucket_policies(template):
    return [properties for _, properties in template.of_type("AWS::S3::BucketPolicy")]


def refuses_plain_http(template, bucket, policy):
    whole = [{"Fn::GetAtt": [bucket, "Arn"]}, {"Fn::Sub": f"${{{bucket}.Arn}}/*"}]
    return template.target(policy["Bucket"]) == bucket and any(
        statement["Effect"] == "Deny"
        and statement["Principal"] == "*"
        and statement["Action"] == "s3:*"
        and statement["Resource"] == whole
        and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for statement in policy["PolicyDocument"]["Statement"]
    )


def mail_is_heard_of_again(template, _root):
    """Each configuration set tells a topic of bounces and complaints, and somebody listens."""
    listened = {
        template.target(properties["TopicArn"])
        for _, properties in template.of_type("AWS::SNS::Subscription")
    }
    for name, _ in template.of_type("AWS::SES::ConfigurationSet"):
        told = set()
        for _, events in template.of_type("AWS::SES::ConfigurationSetEventDestination"):
            destination = events["EventDestination"]
            topic = template.target(destination.get("SnsDestination", {}).get("TopicARN"))
            if (
                template.target(events["ConfigurationSetName"]) == name
                and destination.get("Enabled") is True
                and topic in listened
            ):
                told |= {kind.lower() for kind in destination["MatchingEventTypes"]}
        for kind in sorted({"bounce", "complaint"} - told):
            yield f"{name}: nobody hears of a {kind}"
    for role, _ in template.of_type("AWS::IAM::Role"):
        for statement in allowed(template.statements(role)):
            resources = json.dumps(statement["Resource"])
            if (
                role.startswith("Dunr")
                and "ses:SendEmail" in as_list(statement["Action"])
                and "configuration-set/${DunrMailConfiguration}" not in resources
            ):
                yield f"{role}: may not send by the configuration set"


RULES = [
    only_the_retrier_can_charge,
    few_say_who_has_access,
    retries_start_the_retrier_alone,
    schedules_belong_to_the_scheduler,
    buckets_are_private_and_kept,
    mail_is_heard_of_again,
]
