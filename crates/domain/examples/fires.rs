//! Computes cron times for other programs. Each input line `COUNT ZONE SECONDS CRON` gives one
//! output line with the next times in seconds. An invalid cron gives an empty line.

use std::io::{self, BufRead, Write};

use domain::schedule::{Cron, Zone};
use jiff::Timestamp;

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let fires = fires(&line?).unwrap_or_default();
        let seconds: Vec<String> = fires.iter().map(|fire| fire.as_second().to_string()).collect();
        writeln!(out, "{}", seconds.join(" "))?;
    }
    out.flush()
}

fn fires(line: &str) -> Option<Vec<Timestamp>> {
    let mut words = line.splitn(4, ' ');
    let count: usize = words.next()?.parse().ok()?;
    let zone = Zone::named(words.next()?).ok()?;
    let start = Timestamp::from_second(words.next()?.parse().ok()?).ok()?;
    let cron = Cron::parse(words.next()?).ok()?;
    let next = |after: &Timestamp| cron.next(*after, zone.time_zone());
    Some(std::iter::successors(next(&start), next).take(count).collect())
}
