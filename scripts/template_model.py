"""template.yaml as CloudFormation will see it: transformed, and with its references followed."""

import copy
import json
import logging
import os
import re

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-2")

from samtranslator.model.exceptions import InvalidDocumentException  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# The translator reminds its operators, on every run, to publish their metrics.
logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)

PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-west-2",
    "AWS::StackName": "paidonce",
    "AWS::URLSuffix": "amazonaws.com",
}


class TransformError(Exception):
    """The template can't be transformed, so nothing more can be said of it."""


class NoManagedPolicies:
    """The translator asks for the managed policies of the account; exact roles use none."""

    def load(self):
        return {}


class Template:
    def __init__(self, raw):
        self.raw = raw
        self.transformed = transformed(raw)
        self.resources = self.transformed["Resources"]
        self.parameters = raw.get("Parameters", {})

    @classmethod
    def read(cls, path):
        return cls(yaml_parse(path.read_text()))

    def body(self):
        return json.dumps(self.transformed, separators=(",", ":"))

    def of_type(self, kind):
        """Yields (logical id, properties) of each resource of a type."""
        for name, resource in self.resources.items():
            if resource["Type"] == kind:
                yield name, resource.get("Properties", {})

    def functions(self):
        """Yields (logical id, properties) of each function as written in the template."""
        shared = self.raw.get("Globals", {}).get("Function", {})
        for name, resource in self.raw["Resources"].items():
            if resource["Type"] == "AWS::Serverless::Function":
                yield name, {**shared, **resource["Properties"]}

    def target(self, value):
        """Returns the logical id that a `Ref` or `GetAtt` names, or None."""
        if not isinstance(value, dict):
            return None
        if "Ref" in value:
            return value["Ref"]
        attribute = value.get("Fn::GetAtt")
        if isinstance(attribute, str):
            return attribute.split(".")[0]
        return attribute[0] if attribute else None

    def text(self, value):
        """Returns a value as text: parameters by their default, resources as `<Name.Attribute>`."""
        if isinstance(value, dict):
            return self.intrinsic_text(value)
        return str(value)

    def intrinsic_text(self, value):
        if "Ref" in value:
            return self.reference(value["Ref"])
        if "Fn::GetAtt" in value:
            attribute = value["Fn::GetAtt"]
            return f"<{attribute if isinstance(attribute, str) else '.'.join(attribute)}>"
        if isinstance(value.get("Fn::Sub"), str):
            return re.sub(r"\$\{([^}]+)\}", lambda name: self.reference(name[1]), value["Fn::Sub"])
        if "Fn::Join" in value:
            separator, parts = value["Fn::Join"]
            return separator.join(self.text(part) for part in parts)
        if "Fn::If" in value:
            return self.text(value["Fn::If"][1])
        return json.dumps(value)

    def reference(self, name):
        if name in PSEUDO:
            return PSEUDO[name]
        if name in self.parameters:
            return str(self.parameters[name].get("Default", f"<{name}>"))
        return f"<{name}>"

    def statements(self, role):
        """Returns the policy statements of a role, by its logical id."""
        properties = self.resources.get(role, {}).get("Properties", {})
        return [
            {"Action": [], "Resource": [], **statement}
            for policy in properties.get("Policies", [])
            for statement in policy["PolicyDocument"]["Statement"]
        ]


def transformed(raw):
    document = copy.deepcopy(raw)
    document.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in document["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
    try:
        return transform(document, {}, NoManagedPolicies())
    except InvalidDocumentException as error:
        raise TransformError("; ".join(cause.message for cause in error.causes)) from error


def as_list(value):
    return value if isinstance(value, list) else [value]


def function_names(template):
    """Returns the deployed name of each function by its logical id."""
    return {name: template.text(p.get("FunctionName", name)) for name, p in template.functions()}


def allowed(statements):
    return [statement for statement in statements if statement["Effect"] == "Allow"]


def acts_on(template, statement, resource):
    """Whether a statement is about a resource, one of its attributes or one of its indexes."""
    return any(
        template.target(each) == resource or template.text(each).startswith(f"<{resource}.")
        for each in as_list(statement["Resource"])
    )
