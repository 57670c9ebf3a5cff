"""Crons, as croniter reckons them: thousands of random ones, in zones whose clocks change."""

import datetime
import os
import pathlib
import random
import subprocess
import unittest
import zoneinfo

import croniter

BINS = pathlib.Path(os.environ.get("OLLIM_TEST_BINS", "../../target/debug"))
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
LIMITS = [(0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 6, WEEKDAYS)]
CRONS, FIRES = 5_000, 30
EPOCH = datetime.datetime(1970, 1, 1)


def part(dice, least, most, names):
    # Omits forms that croniter reads differently: weekdays as 6-6, which it takes as the whole
    # week, and as 1/2, where its week ends on Saturday instead of Sunday.
    one, two = sorted(dice.sample(range(least, most + 1), 2))
    step = dice.randint(1, 9)
    name = names[one - least] if names and dice.random() < 0.5 else one
    start = name if names == WEEKDAYS else f"{one}/{step}"
    return dice.choice([name, name, name, f"*/{step}", f"{one}-{two}", f"{one}-{two}/{step}", start])


def field(dice, least, most, names):
    if dice.random() < 0.4:
        return "*"
    return ",".join(str(part(dice, least, most, names)) for _ in range(dice.choice([1, 1, 2])))


def restricts(cron):
    """Whether a day field that is not `*` leaves out a day. If it leaves out none, croniter takes it for `*`, and
    with it the other day field alone decides."""
    (_, _, day, _, weekday), _ = croniter.croniter.expand(cron)
    texts = cron.split()
    return all(text == "*" or values != ["*"] for text, values in [(texts[2], day), (texts[4], weekday)])


def transitions(zone, first, last):
    """The instants at which the clocks of `zone` change, to the minute."""
    offset = lambda second: datetime.datetime.fromtimestamp(second, zone).utcoffset()
    found = set()
    for second in range(first - first % 900, last + 900, 900):
        if offset(second) != offset(second + 900):
            found.add(second + 900)
    return found


def plain(fires, zone, changes):
    """The fires whose local time is there once, and that a change of the clocks did not make."""
    for fire in fires:
        local = datetime.datetime.fromtimestamp(fire, zone)
        if local.utcoffset() == local.replace(fold=1 - local.fold).utcoffset() and fire not in changes:
            yield fire


def theirs(cron, zone, start):
    """The next fires by croniter on a calendar without changes, as far as the clocks of `zone` show them."""
    naive = datetime.datetime.fromtimestamp(start, zone).replace(tzinfo=None)
    times = croniter.croniter(cron, naive, ret_type=datetime.datetime, day_or=True, max_years_between_matches=9)
    for _ in range(FIRES):
        local = times.get_next().replace(tzinfo=zone)
        fire = local.timestamp()
        if datetime.datetime.fromtimestamp(fire, zone).replace(tzinfo=None) == local.replace(tzinfo=None):
            yield int(fire)


class Crons(unittest.TestCase):
    def test_random_crons_fire_as_croniter_says(self):
        dice = random.Random(7)
        asked = []
        while len(asked) < CRONS:
            cron = " ".join(field(dice, *limits) for limits in LIMITS)
            if not restricts(cron):
                continue
            asked.append((dice.choice(ZONES), dice.randint(1_577_836_800, 1_893_456_000), cron))
        lines = "".join(f"{FIRES} {zone} {start} {cron}\n" for zone, start, cron in asked)
        program = [BINS / "examples" / "fires"]
        ours = subprocess.run(program, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
        compared = [self.compare(*one, [int(fire) for fire in line.split()]) for one, line in zip(asked, ours, strict=True)]
        self.assertGreater(sum(count > 0 for count in compared), CRONS * 0.9)
        self.assertGreater(sum(compared), CRONS * FIRES * 0.8)

    def compare(self, zone_name, start, cron, ours):
        zone = zoneinfo.ZoneInfo(zone_name)
        try:
            wanted = list(theirs(cron, zone, start))
        except croniter.CroniterBadDateError:
            self.assertEqual(ours, [], f"{cron} never comes")
            return 0
        self.assertTrue(ours, f"{cron} in {zone_name} after {start}")
        end = min(ours[-1], max(wanted, default=start))
        near = {at for fire in ours + wanted for at in transitions(zone, fire - 900, fire)} if zone_name != "UTC" else set()
        mine, others = (list(plain((fire for fire in fires if fire <= end), zone, near)) for fires in (ours, wanted))
        self.assertEqual(mine, others, f"{cron} in {zone_name} after {start}")
        return len(mine)


if __name__ == "__main__":
    unittest.main()
