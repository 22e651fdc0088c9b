"""Plants each fault in a copy of template.yaml and expects its rule to complain."""

import copy
import unittest

import template_rules
from check_template import ROOT
from schedule_rules import expression_fault
from template_model import Template

SOUND = Template.read(ROOT / "template.yaml")


class Copy:
    """A copy of the template to spoil."""

    def __init__(self):
        self.raw = copy.deepcopy(SOUND.raw)

    def resource(self, name):
        return self.raw["Resources"][name]

    def of(self, name):
        return self.resource(name)["Properties"]

    def statements(self, role):
        return self.of(role)["Policies"][0]["PolicyDocument"]["Statement"]

    def statement(self, role, sid):
        return next(each for each in self.statements(role) if each["Sid"] == sid)

    def trust(self, role):
        return self.of(role)["AssumeRolePolicyDocument"]["Statement"][0]

    def target(self, schedule):
        return self.of(schedule)["Target"]

    def remove(self, name):
        del self.raw["Resources"][name]

    def variables(self, function):
        return self.of(function)["Environment"]["Variables"]

    def template(self):
        return Template(self.raw)


# (rule, the fault in words, how to plant it, words of the complaint)
FAULTS = []


def fault(rule, says):
    def add(plant):
        FAULTS.append((rule, plant.__name__, plant, says))
        return plant

    return add


@fault("actions_are_named", "dynamodb:* is a wildcard")
def any_action(copy):
    copy.statement("BdcIntakeRole", "Slots")["Action"] = "dynamodb:*"


@fault("actions_are_named", "sqs:Get* is a wildcard")
def a_prefix_of_actions(copy):
    copy.statement("BdcComposerRole", "Receive")["Action"].append("sqs:Get*")


@fault("actions_are_named", "NotAction")
def all_actions_but_one(copy):
    statement = copy.statement("BdcWebhookRole", "Audit")
    statement["NotAction"] = statement.pop("Action")


@fault("resources_are_named", "the resource * is a wildcard")
def any_resource(copy):
    copy.statement("BdcIntakeRole", "Slots")["Resource"] = "*"


@fault("resources_are_named", "table/bdc-* is a wildcard")
def a_prefix_of_tables(copy):
    resource = {"Fn::Sub": "arn:aws:dynamodb:${AWS::Region}:${AWS::AccountId}:table/bdc-*"}
    copy.statement("BdcRelayRole", "Outbox")["Resource"] = resource


@fault("resources_are_named", "the resource * is a wildcard")
def texts_without_the_denial_of_topics(copy):
    copy.statements("BdcComposerRole").remove(copy.statement("BdcComposerRole", "NoTopics"))


@fault("resources_are_named", "the resource * is a wildcard")
def mail_from_anyone(copy):
    copy.statement("BdcEscalatorRole", "Mail")["Resource"] = "*"


@fault("resources_are_named", "managed policies")
def a_managed_policy(copy):
    copy.of("BdcOptoutRole")["ManagedPolicyArns"] = ["arn:aws:iam::aws:policy/AdministratorAccess"]


@fault("roles_trust_one_service", "trusted by")
def a_role_for_any_account(copy):
    copy.trust("BdcWebhookRole")["Principal"] = {"AWS": "*"}


@fault("roles_trust_one_service", "trusted by")
def a_role_for_the_wrong_service(copy):
    copy.trust("BdcSchedulesRole")["Principal"] = {"Service": "events.amazonaws.com"}


@fault("resource_policies_name_a_service", "is not one service")
def a_queue_for_everybody(copy):
    document = copy.of("BdcOptoutDeadLettersPolicy")["PolicyDocument"]
    document["Statement"][0]["Principal"] = "*"


@fault("resource_policies_name_a_service", "any account's")
def a_topic_for_any_account(copy):
    del copy.of("BdcInboundSmsTopicPolicy")["PolicyDocument"]["Statement"][0]["Condition"]


@fault("permissions_name_a_source", "without a SourceArn")
def a_function_for_any_topic(copy):
    del copy.of("BdcOptoutPermission")["SourceArn"]


@fault("public_urls_have_both_permissions", "AuthType must be NONE")
def a_url_for_signed_calls_only(copy):
    copy.of("BdcWebhookFunction")["FunctionUrlConfig"]["AuthType"] = "AWS_IAM"


@fault("public_urls_have_both_permissions", "has no Function URL")
def a_function_without_its_url(copy):
    del copy.of("BdcIntakeFunction")["FunctionUrlConfig"]


@fault("public_urls_have_both_permissions", "is not to have a public URL")
def a_url_too_many(copy):
    copy.of("BdcEscalatorFunction")["FunctionUrlConfig"] = {"AuthType": "NONE"}


@fault("roles_follow_the_variables", "has a variable for BdcSlotsTable")
def a_table_without_permission(copy):
    copy.statements("BdcReleaseSweepRole").remove(copy.statement("BdcReleaseSweepRole", "Slots"))


@fault("roles_follow_the_variables", "may touch BdcProviderKeySecret")
def a_secret_too_many(copy):
    resource = copy.statement("BdcIntakeRole", "Secrets")["Resource"]
    resource.append({"Ref": "BdcProviderKeySecret"})


@fault("only_the_webhook_says_paid", "could write payment_ref")
def a_sweep_that_could_confirm(copy):
    statement = copy.statement("BdcSettleSweepRole", "OnlyTheWebhookSaysPaid")
    copy.statements("BdcSettleSweepRole").remove(statement)


@fault("only_the_webhook_says_paid", "could write payment_ref")
def a_denial_that_is_void(copy):
    statement = copy.statement("BdcIntakeRole", "OnlyTheWebhookSaysPaid")
    statement["Condition"]["ForAnyValue:StringEquals"]["dynamodb:Attributes"] = ["payment"]


@fault("only_the_webhook_says_paid", "must not create them")
def a_webhook_that_creates(copy):
    copy.statement("BdcWebhookRole", "Bookings")["Action"].append("dynamodb:PutItem")


@fault("few_roles_reach_model_and_people", "DunrMailerRole and DunrSummaryRole alone")
def a_second_role_with_the_model(copy):
    statement = copy.statement("BdcComposerRole", "Model")
    copy.statements("BdcEscalatorRole").append(dict(statement))


@fault("few_roles_reach_model_and_people", "must not delete anything")
def a_composer_that_deletes(copy):
    copy.statement("BdcComposerRole", "Bookings")["Action"] = "dynamodb:DeleteItem"


@fault("audit_is_append_only", "dynamodb:UpdateItem on the audit table")
def an_audit_row_that_changes(copy):
    copy.statement("BdcWebhookRole", "Audit")["Action"] = "dynamodb:UpdateItem"


@fault("secrets_are_not_in_the_template", "in plain sight")
def a_secret_in_plain_sight(copy):
    copy.of("BdcSigningKeySecret")["SecretString"] = "whsec_0123"


@fault("schedules_are_valid_and_bounded", "neither rate, cron nor at")
def a_misspelt_schedule(copy):
    copy.of("BdcRelaySchedule")["ScheduleExpression"] = "every(5 minutes)"


@fault("schedules_are_valid_and_bounded", "not a time zone")
def a_zone_that_is_none(copy):
    copy.of("BdcSettleSweepSchedule")["ScheduleExpressionTimezone"] = "Europe/Londn"


@fault("schedules_are_valid_and_bounded", "must be OFF")
def a_loose_window(copy):
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    copy.of("BdcRelaySchedule")["FlexibleTimeWindow"] = window


@fault("schedules_are_valid_and_bounded", "for more than an hour")
def a_start_a_day_late(copy):
    copy.target("BdcReleaseSweepSchedule")["RetryPolicy"]["MaximumEventAgeInSeconds"] = 86_400


@fault("schedules_are_valid_and_bounded", "185 times")
def a_start_without_a_policy(copy):
    del copy.target("BdcReleaseSweepSchedule")["RetryPolicy"]


@fault("schedules_are_valid_and_bounded", "is dropped")
def a_start_without_dead_letters(copy):
    del copy.target("BdcReleaseSweepSchedule")["DeadLetterConfig"]


@fault("schedules_are_valid_and_bounded", "the input is")
def a_start_with_another_input(copy):
    copy.target("BdcRelaySchedule")["Input"] = "{}"


@fault("schedules_are_valid_and_bounded", "may not start its target")
def a_role_without_its_target(copy):
    copy.statement("BdcSchedulesRole", "Start")["Resource"].pop()


@fault("rules_on_buses_are_valid", "has 5 fields")
def a_rule_of_unix_cron(copy):
    rule = {"ScheduleExpression": "cron(0 9 * * 1)", "Targets": []}
    copy.raw["Resources"]["Rule"] = {"Type": "AWS::Events::Rule", "Properties": rule}


@fault("queues_let_their_services_send", "has no policy for this topic")
def a_queue_without_its_policy(copy):
    copy.remove("BdcOptoutDeadLettersPolicy")


@fault("queues_let_their_services_send", "has no policy for this rule")
def a_rule_without_its_policy(copy):
    target = {"Id": "jobs", "Arn": {"Fn::GetAtt": ["BdcJobsQueue", "Arn"]}}
    rule = {"EventPattern": {"source": ["x"]}, "Targets": [target]}
    copy.raw["Resources"]["Rule"] = {"Type": "AWS::Events::Rule", "Properties": rule}


@fault("queues_outlast_their_functions", "shows again")
def a_message_that_shows_again(copy):
    copy.of("BdcJobsQueue")["VisibilityTimeout"] = 179


@fault("queues_outlast_their_functions", "shows again")
def a_function_that_takes_longer(copy):
    copy.of("BdcEscalatorFunction")["Timeout"] = 60


@fault("queues_outlast_their_functions", "one message at a time")
def a_batch_of_texts(copy):
    copy.of("BdcComposerSource")["BatchSize"] = 10


@fault("queues_outlast_their_functions", "no limit on concurrency")
def a_flood_of_texts(copy):
    del copy.of("BdcComposerSource")["ScalingConfig"]


@fault("queues_outlast_their_functions", "has no dead-letter queue")
def a_queue_without_dead_letters(copy):
    del copy.of("BdcHandoversQueue")["RedrivePolicy"]


@fault("queues_outlast_their_functions", "after 1 receives")
def a_queue_that_gives_up(copy):
    copy.of("BdcJobsQueue")["RedrivePolicy"]["maxReceiveCount"] = 1


@fault("queues_outlast_their_functions", "not for two weeks")
def dead_letters_that_expire(copy):
    copy.of("BdcJobsDeadLetters")["MessageRetentionPeriod"] = 3600


@fault("batches_fail_in_part", "fails its whole batch")
def a_batch_that_fails_whole(copy):
    del copy.of("BdcRelaySource")["FunctionResponseTypes"]


@fault("streams_get_past_a_bad_record", "does not bisect")
def a_stream_that_does_not_bisect(copy):
    copy.of("BdcRelaySource")["BisectBatchOnFunctionError"] = False


@fault("streams_get_past_a_bad_record", "until it expires")
def a_stream_that_retries_for_ever(copy):
    copy.of("BdcRelaySource")["MaximumRetryAttempts"] = -1


@fault("streams_get_past_a_bad_record", "in silence")
def a_stream_that_drops(copy):
    del copy.of("BdcRelaySource")["DestinationConfig"]


@fault("streams_get_past_a_bad_record", "more than new rows")
def a_relay_woken_by_itself(copy):
    filters = [{"Pattern": '{"eventName":["INSERT","MODIFY"]}'}]
    copy.of("BdcRelaySource")["FilterCriteria"]["Filters"] = filters


@fault("events_have_an_end", "for six hours")
def starts_that_pile_up(copy):
    copy.remove("BdcReleaseSweepInvocations")


@fault("events_have_an_end", "fails is dropped")
def a_stop_that_is_lost(copy):
    del copy.of("BdcOptoutInvocations")["DestinationConfig"]


@fault("events_have_an_end", "can't be delivered is dropped")
def a_stop_that_is_not_delivered(copy):
    del copy.of("BdcOptoutSubscription")["RedrivePolicy"]


@fault("tables_keep_what_matters", "DeletionPolicy must be Retain")
def a_table_that_goes_with_the_stack(copy):
    del copy.resource("BdcPaymentsTable")["DeletionPolicy"]


@fault("tables_keep_what_matters", "UpdateReplacePolicy must be Retain")
def a_table_that_is_replaced(copy):
    copy.resource("BdcBookingsTable")["UpdateReplacePolicy"] = "Delete"


@fault("tables_keep_what_matters", "not protected")
def a_table_without_protection(copy):
    copy.of("BdcAuditTable")["DeletionProtectionEnabled"] = False


@fault("tables_keep_what_matters", "no point-in-time recovery")
def a_table_without_recovery(copy):
    del copy.of("BdcOutboxTable")["PointInTimeRecoverySpecification"]


@fault("tables_keep_what_matters", "not on demand")
def a_table_that_costs_by_the_hour(copy):
    copy.of("BdcSlotsTable")["BillingMode"] = "PROVISIONED"


@fault("functions_stand_alone", "no role of its own")
def two_functions_with_one_role(copy):
    copy.of("BdcReleaseSweepFunction")["Role"] = copy.of("BdcSettleSweepFunction")["Role"]


@fault("functions_stand_alone", "says no time-out")
def a_function_without_a_timeout(copy):
    del copy.of("BdcOptoutFunction")["Timeout"]


@fault("functions_stand_alone", "reserves concurrency")
def reserved_concurrency(copy):
    copy.of("BdcIntakeFunction")["ReservedConcurrentExecutions"] = 5


@fault("functions_stand_alone", "X-Ray")
def tracing(copy):
    copy.of("BdcIntakeFunction")["Tracing"] = "Active"


@fault("functions_stand_alone", "not on arm64")
def another_processor(copy):
    copy.of("BdcIntakeFunction")["Architectures"] = ["x86_64"]


@fault("functions_stand_alone", "not on provided.al2023")
def another_runtime(copy):
    copy.of("BdcIntakeFunction")["Runtime"] = "provided.al2"


@fault("functions_stand_alone", "does not log to")
def logs_into_anothers_group(copy):
    logging = copy.of("BdcIntakeFunction")["LoggingConfig"]
    logging["LogGroup"] = {"Ref": "BdcWebhookLogs"}


@fault("functions_stand_alone", "keeps its logs for None days")
def logs_for_ever(copy):
    del copy.of("BdcComposerLogs")["RetentionInDays"]


@fault("functions_are_the_folders", "would run bdc-webhook")
def anothers_binary(copy):
    copy.resource("BdcIntakeFunction")["Metadata"]["BuildProperties"]["Binary"] = "bdc-webhook"


@fault("functions_are_the_folders", "bdc-intake is built in functions/booking/intake")
def another_folder(copy):
    copy.of("BdcIntakeFunction")["CodeUri"] = "."


@fault("functions_are_the_folders", "is not built with cargo-lambda")
def no_build_method(copy):
    del copy.resource("BdcIntakeFunction")["Metadata"]["BuildMethod"]


@fault("functions_are_the_folders", "there is no package bdc-barber")
def a_function_without_a_package(copy):
    copy.resource("BdcIntakeFunction")["Metadata"]["BuildProperties"]["Binary"] = "bdc-barber"


@fault("variables_resolve", "which is not there")
def a_variable_of_nothing(copy):
    copy.variables("BdcOptoutFunction")["VENUE"] = {"Ref": "Veneu"}


@fault("variables_resolve", "is not a AWS::SQS::Queue")
def a_variable_of_the_wrong_kind(copy):
    copy.variables("BdcIntakeFunction")["JOBS_QUEUE"] = {"Ref": "BdcBookingsTable"}


@fault("budgets_warn_in_time", "must be in USD and MONTHLY")
def a_budget_in_another_unit(copy):
    copy.of("MonthlyBudget")["Budget"]["BudgetLimit"]["Unit"] = "PERCENT"


@fault("budgets_warn_in_time", "must be a COST budget")
def a_budget_of_usage(copy):
    copy.of("MonthlyBudget")["Budget"]["BudgetType"] = "USAGE"


@fault("budgets_warn_in_time", "not at 80 and 100")
def a_budget_that_warns_late(copy):
    copy.of("MonthlyBudget")["NotificationsWithSubscribers"].pop(0)


@fault("budgets_warn_in_time", "there is no budget")
def no_budget(copy):
    copy.remove("MonthlyBudget")


@fault("budgets_warn_in_time", "there is no budget DunrBudget")
def no_budget_of_dunning(copy):
    copy.remove("DunrBudget")


@fault("alarms_reach_someone", "tells nobody")
def an_alarm_without_an_action(copy):
    del copy.of("BdcOutboxAlarm")["AlarmActions"]


@fault("alarms_reach_someone", "Visible of BdcRelayDeadLetters")
def dead_letters_that_nobody_sees(copy):
    metrics = copy.of("BdcDeadLettersAlarm")["Metrics"]
    metrics.remove(next(each for each in metrics if each["Id"] == "relay"))


@fault("alarms_reach_someone", "Errors of BdcRelayFunction")
def errors_that_nobody_sees(copy):
    copy.of("BdcErrorsAlarm")["Metrics"].pop()


@fault("alarms_reach_someone", "no alarm watches signature_fail")
def signatures_that_nobody_sees(copy):
    copy.remove("BdcSignatureAlarm")


@fault("alarms_name_their_runbook", "no runbook that there is")
def an_alarm_without_a_runbook(copy):
    copy.of("BdcOutboxAlarm")["AlarmDescription"] = "Late. Runbook late-events."


@fault("systems_can_be_switched_off", "although booking is off")
def a_table_that_is_always_there(copy):
    del copy.resource("BdcSlotsTable")["Condition"]


@fault("the_model_is_the_profiles", "is not the model of")
def another_model(copy):
    copy.raw["Parameters"]["ModelId"]["Default"] = "global.another"


@fault("the_template_fits", "500")
def too_many_resources(copy):
    for n in range(400):
        copy.raw["Resources"][f"Topic{n}"] = {"Type": "AWS::SNS::Topic"}


@fault("the_template_fits", "1 MB")
def too_long_a_template(copy):
    copy.raw["Resources"]["Topic"] = {
        "Type": "AWS::SNS::Topic",
        "Properties": {"DisplayName": "x" * 900_000},
    }


@fault("public_urls_have_both_permissions", "is not to have a public URL")
def a_retrier_that_anyone_may_start(copy):
    copy.of("DunrRetrierFunction")["FunctionUrlConfig"] = {"AuthType": "NONE"}


@fault("resources_are_named", "dunr-* is a wildcard")
def a_scheduler_of_every_schedule(copy):
    resource = {"Fn::Sub": "arn:aws:scheduler:${AWS::Region}:${AWS::AccountId}:schedule/dunr/dunr-*"}
    copy.statement("DunrSchedulerRole", "Retries")["Resource"] = resource


@fault("few_roles_reach_model_and_people", "must not delete anything")
def a_mailer_that_deletes(copy):
    copy.statement("DunrMailerRole", "MailOfDay")["Action"] = "dynamodb:DeleteItem"


@fault("audit_is_append_only", "dynamodb:DeleteItem on the audit table")
def a_log_that_forgets(copy):
    copy.statement("DunrSweepRole", "Log")["Action"] = "dynamodb:DeleteItem"


@fault("alarms_reach_someone", "holiday_data_days_left of DunrSweepFunction")
def holidays_that_run_out_in_silence(copy):
    copy.remove("DunrHolidayDataAlarm")


@fault("alarms_reach_someone", "Reputation.ComplaintRate of DunrMailConfiguration")
def complaints_that_nobody_sees(copy):
    copy.remove("DunrComplaintsAlarm")


@fault("systems_can_be_switched_off", "although dunning is off")
def a_retrier_that_is_always_there(copy):
    copy.resource("DunrRetrierFunction")["Condition"] = "BookingOn"


@fault("only_the_retrier_can_charge", "DunrApiKeySecret: read by")
def a_portal_that_could_charge(copy):
    copy.statement("DunrPortalRole", "Secrets")["Resource"].append({"Ref": "DunrApiKeySecret"})


@fault("only_the_retrier_can_charge", "DunrTokensSecret: read by")
def a_gatekeeper_that_knows_nobody(copy):
    copy.statements("DunrGatekeeperRole").remove(copy.statement("DunrGatekeeperRole", "Secret"))


@fault("few_say_who_has_access", "and so shut a customer out")
def a_webhook_that_shuts_out(copy):
    denial = copy.statement("DunrWebhookRole", "AccessIsOthersToSay")
    copy.statements("DunrWebhookRole").remove(denial)


@fault("few_say_who_has_access", "and so shut a customer out")
def a_denial_of_half(copy):
    condition = copy.statement("DunrSweepRole", "AccessIsOthersToSay")["Condition"]
    condition["ForAnyValue:StringEquals"]["dynamodb:Attributes"] = ["access"]


@fault("few_say_who_has_access", "may write more than access")
def a_gatekeeper_that_writes_all(copy):
    del copy.statement("DunrGatekeeperRole", "DunningAccess")["Condition"]


@fault("few_say_who_has_access", "DunrRetrierRole: must be able to write")
def a_retrier_that_can_not_pause(copy):
    denial = copy.statement("DunrSweepRole", "AccessIsOthersToSay")
    copy.statements("DunrRetrierRole").append(dict(denial))


@fault("retries_start_the_retrier_alone", "not the retrier alone")
def a_retry_that_starts_anything(copy):
    start = copy.statement("DunrRetriesRole", "Retry")
    start["Resource"] = [start["Resource"], {"Fn::GetAtt": ["DunrMailerFunction", "Arn"]}]


@fault("retries_start_the_retrier_alone", "any account's schedules")
def retries_of_any_account(copy):
    del copy.trust("DunrRetriesRole")["Condition"]


@fault("retries_start_the_retrier_alone", "passes ['DunrRetrierRole']")
def another_role_passed(copy):
    resource = {"Fn::GetAtt": ["DunrRetrierRole", "Arn"]}
    copy.statement("DunrSchedulerRole", "RoleOfRetries")["Resource"] = resource


@fault("retries_start_the_retrier_alone", "to any service")
def a_role_passed_to_anyone(copy):
    del copy.statement("DunrSchedulerRole", "RoleOfRetries")["Condition"]


@fault("schedules_belong_to_the_scheduler", "is for DunrSchedulerRole alone")
def a_retrier_that_deletes_schedules(copy):
    statement = dict(copy.statement("DunrSchedulerRole", "Retries"))
    copy.statements("DunrRetrierRole").append({**statement, "Action": "scheduler:DeleteSchedule"})


@fault("buckets_are_private_and_kept", "could be made public")
def a_public_bucket(copy):
    copy.of("DunrAssetsBucket")["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] = False


@fault("buckets_are_private_and_kept", "can't be undone")
def a_bucket_without_versions(copy):
    del copy.of("DunrAssetsBucket")["VersioningConfiguration"]


@fault("buckets_are_private_and_kept", "without TLS")
def a_bucket_in_plain_http(copy):
    copy.remove("DunrAssetsBucketPolicy")


@fault("buckets_are_private_and_kept", "without TLS")
def a_bucket_whose_objects_go_in_plain(copy):
    statement = copy.of("DunrAssetsBucketPolicy")["PolicyDocument"]["Statement"][0]
    statement["Resource"].pop()


@fault("mail_is_heard_of_again", "hears of a complaint")
def complaints_that_nobody_hears(copy):
    copy.of("DunrMailEvents")["EventDestination"]["MatchingEventTypes"] = ["bounce"]


@fault("mail_is_heard_of_again", "hears of a bounce")
def feedback_to_a_topic_without_a_listener(copy):
    copy.remove("DunrFeedbackSubscription")


@fault("mail_is_heard_of_again", "by the configuration set")
def a_mailer_outside_the_set(copy):
    copy.statement("DunrMailerRole", "Mail")["Resource"].pop()


class Faults(unittest.TestCase):
    def test_the_template_is_sound(self):
        self.assertEqual(template_rules.check(SOUND, ROOT), [])

    def test_each_planted_fault_is_named_by_its_rule(self):
        for rule, name, plant, says in FAULTS:
            with self.subTest(rule=rule, fault=name):
                spoilt = Copy()
                plant(spoilt)
                complaints = template_rules.check(spoilt.template(), ROOT)
                self.assertTrue(
                    any(c.startswith(f"{rule}: ") and says in c for c in complaints),
                    complaints,
                )

    def test_each_rule_has_a_planted_fault(self):
        rules = [rule.__name__ for rule in template_rules.RULES]
        self.assertEqual(sorted(set(rules)), sorted({fault[0] for fault in FAULTS}))

    def test_a_url_needs_each_of_its_two_permissions(self):
        for missing in ("PublicPermissions", "InvokeAllowPublicAccess"):
            with self.subTest(missing=missing):
                template = Copy().template()
                name = next(
                    name
                    for name in template.resources
                    if name.startswith("BdcWebhookFunction") and name.endswith(missing)
                )
                del template.resources[name]
                complaints = template_rules.check(template, ROOT)
                self.assertEqual(len(complaints), 1, complaints)
                self.assertIn("answers 403", complaints[0])

    def test_schedule_expressions(self):
        sound = [
            "rate(1 hour)",
            "rate(5 minutes)",
            "at(2026-07-11T20:00:00)",
            "cron(0 9 ? * MON#1 *)",
            "cron(0/15 8-17 ? * MON-FRI 2026)",
            "cron(0 9 L * ? *)",
        ]
        spoilt = [
            "rate(1 hours)",
            "rate(5 minute)",
            "rate(0 minutes)",
            "rate(5 seconds)",
            "cron(0 9 * * * *)",
            "cron(0 9 ? * ? *)",
            "cron(60 9 ? * MON *)",
            "cron(0 9 ? * MOO *)",
            "cron(0 9 32 * ? *)",
            "0 9 * * *",
        ]
        self.assertEqual([each for each in sound if expression_fault(each)], [])
        self.assertEqual([each for each in spoilt if not expression_fault(each)], [])


if __name__ == "__main__":
    unittest.main()
