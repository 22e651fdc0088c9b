"""The rules of template.yaml that no linter knows.

Each rule takes the template and the project's folder, and yields complaints.
`scripts/test_check_template.py` plants a fault for each of them.
"""

import access_rules
import delivery_rules
import dunning_rules
import estate_rules

RULES = access_rules.RULES + delivery_rules.RULES + dunning_rules.RULES + estate_rules.RULES


def check(template, root):
    """Returns every complaint, each with the name of its rule in front."""
    return [f"{rule.__name__}: {complaint}" for rule in RULES for complaint in rule(template, root)]
