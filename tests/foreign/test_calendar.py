"""Rules of calendars, as dateutil reckons them: thousands of random ones, in zones whose clocks change."""

import datetime
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest
import zoneinfo

from dateutil import rrule

BINS = pathlib.Path(os.environ.get("OLLIM_TEST_BINS", "../../target/debug"))
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
CALENDARS, RULES, WINDOW = 40, 60, 500


def some(dice, all_of_them, most):
    return dice.sample(all_of_them, dice.randint(1, most))


def days(dice, ordinals):
    named = some(dice, DAYS, 3)
    if ordinals and dice.random() < 0.6:
        return [f"{dice.choice(ordinals)}{day}" for day in named]
    return named


def parts(dice):
    """A rule without its end. Left out is what dateutil sees in its own way: the n-th of a week, and weekdays that are
    counted and also limited by days of the month."""
    freq = dice.choice(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
    rule = {"FREQ": freq}
    if dice.random() < 0.5:
        rule["INTERVAL"] = dice.randint(1, 5)
    if dice.random() < 0.3:
        rule["BYMONTH"] = ",".join(map(str, some(dice, range(1, 13), 3)))
    by_month_day = freq != "WEEKLY" and dice.random() < 0.3
    if by_month_day:
        rule["BYMONTHDAY"] = ",".join(map(str, some(dice, [*range(1, 32), *range(-31, 0)], 4)))
    if dice.random() < 0.5:
        within_month = freq == "MONTHLY" or "BYMONTH" in rule
        ordinals = [1, 2, 3, 4, 5, -1, -2, -5] if within_month else [1, 2, 10, 20, 52, 53, -1, -30]
        counted = freq in ("MONTHLY", "YEARLY") and not by_month_day
        rule["BYDAY"] = ",".join(days(dice, ordinals if counted else None))
        if freq in ("MONTHLY", "YEARLY") and dice.random() < 0.3:
            rule["BYSETPOS"] = ",".join(map(str, some(dice, [1, 2, 3, -1, -2], 2)))
    if freq == "WEEKLY" and dice.random() < 0.5:
        rule["WKST"] = dice.choice(DAYS)
    return rule


def written(rule):
    return ";".join(f"{name}={value}" for name, value in rule.items())


def instant(naive, zone):
    return naive.replace(tzinfo=zone).astimezone(datetime.timezone.utc)


def random_rule(dice, zone, today):
    """A rule, its first time, and all its times: the rule begins where it first comes true."""
    while True:
        rule = parts(dice)
        near = today + datetime.timedelta(days=dice.randint(-3000, 300))
        near = datetime.datetime.combine(near, datetime.time(dice.randint(0, 23), dice.choice([0, 15, 30])))
        horizon = datetime.datetime.combine(today, datetime.time()) + datetime.timedelta(days=WINDOW + 5)
        first = next(iter(rrule.rrulestr(written(rule), dtstart=near).xafter(near, count=1, inc=True)), None)
        if first is None or first > horizon:
            continue
        end = dice.random()
        if end < 0.3:
            rule["COUNT"] = dice.randint(1, 400)
        elif end < 0.6:
            last = instant(first + datetime.timedelta(days=dice.randint(0, 3000)), zone)
            rule["UNTIL"] = last.strftime("%Y%m%dT%H%M%SZ")
        ended = {name: value for name, value in rule.items() if name != "UNTIL"}
        times = [time for time in rrule.rrulestr(written(ended), dtstart=first).between(near, horizon, inc=True)]
        if "UNTIL" in rule:
            times = [time for time in times if instant(time, zone) <= last]
        return rule, first, times


class Rules(unittest.TestCase):
    def test_the_times_of_random_rules(self):
        for seed in range(CALENDARS):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                self.check(random.Random(seed), pathlib.Path(folder))

    def check(self, dice, folder):
        name = dice.choice(ZONES)
        zone = zoneinfo.ZoneInfo(name)
        today = datetime.datetime.now(zone).date()
        start = instant(datetime.datetime.combine(today, datetime.time()), zone)
        end = instant(datetime.datetime.combine(today + datetime.timedelta(days=WINDOW), datetime.time()), zone)
        lines, expected, rules = ["BEGIN:VCALENDAR", "VERSION:2.0"], {}, {}
        for n in range(RULES):
            rule, first, times = random_rule(dice, zone, today)
            rules[str(n)] = f"{first} {written(rule)} {name}"
            expected[str(n)] = sorted({at for at in (instant(time, zone) for time in times) if start <= at < end})
            lines += ["BEGIN:VEVENT", f"UID:{n}", f"DTSTART;TZID={name}:{first:%Y%m%dT%H%M%S}"]
            lines += [f"RRULE:{written(rule)}", "END:VEVENT"]
        folder.joinpath("calendar.ics").write_text("\r\n".join([*lines, "END:VCALENDAR", ""]), newline="")
        line = [BINS / "ollim-bot", "--data-dir", folder, "cal", "upcoming", "--days", str(WINDOW), "--json"]
        environment = {"OLLIM_TIMEZONE": name, "HOME": str(folder), "PATH": os.environ["PATH"]}
        told = json.loads(subprocess.run(line, env=environment, check=True, capture_output=True).stdout)
        self.assertEqual(told["left_out"], [])
        found = {str(n): [] for n in range(RULES)}
        for event in told["events"]:
            at = datetime.datetime.fromisoformat(event["start"]).astimezone(datetime.timezone.utc)
            found[event["id"].split("_")[0]].append(at)
        for uid, times in expected.items():
            self.assertEqual(sorted(found[uid]), times, rules[uid])


if __name__ == "__main__":
    unittest.main()
