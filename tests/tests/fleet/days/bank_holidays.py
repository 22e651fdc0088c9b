"""Prints, as one JSON object, what two other calendars say about the days of the United Kingdom.

    bank_holidays.py FIRST LAST

For each region: `holidays` (govuk-bank-holidays, up to LAST), `wider` (the package `holidays`, which
adds the weekend days that a substitute stands for), and `after`: for each weekend and each day from
FIRST to LAST the five business days after it, `null` for those after LAST. Leaves with 3 if a package
is missing.
"""

import datetime
import json
import sys

try:
    import holidays
    from govuk_bank_holidays.bank_holidays import BankHolidays
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)

REGIONS = {
    "england-and-wales": (BankHolidays.ENGLAND_AND_WALES, "ENG"),
    "scotland": (BankHolidays.SCOTLAND, "SCT"),
    "northern-ireland": (BankHolidays.NORTHERN_IRELAND, "NIR"),
}
WEEKENDS = {"Sat Sun": (5, 6), "Fri Sat": (4, 5)}
GAPS = 5


def business_days_after(calendar, division, first, last):
    day, rows = first, {}
    while day <= last:
        found, at = [], day
        for _ in range(GAPS):
            at = at and calendar.get_next_work_day(division=division, date=at)
            at = at if at and at <= last else None
            found.append(at and at.isoformat())
        rows[day.isoformat()] = found
        day += datetime.timedelta(days=1)
    return rows


def region(division, subdivision, first, last):
    known = [event["date"] for event in BankHolidays(use_cached_holidays=True).get_holidays(division)]
    years = range(known[0].year, last.year + 1)
    wider = holidays.country_holidays("GB", subdiv=subdivision, years=years)
    after = {
        name: business_days_after(
            BankHolidays(use_cached_holidays=True, weekend=weekend), division, first, last
        )
        for name, weekend in WEEKENDS.items()
    }
    return {
        "holidays": sorted(day.isoformat() for day in known if day <= last),
        "wider": sorted(day.isoformat() for day in wider),
        "after": after,
    }


def main():
    first, last = map(datetime.date.fromisoformat, sys.argv[1:])
    json.dump({name: region(*where, first, last) for name, where in REGIONS.items()}, sys.stdout)


main()
