//! Implementation of each slash command.

use domain::assistant::{Answer, Choice, Planning, Request};
use domain::brain::{self, Change, Meant, Span, Until};
use domain::phrase::Habits;
use domain::ping_budget::Pace;
use domain::schedule::Rest;
use jiff::Zoned;
use jiff::civil::Date;

use super::asking::{ask, command as obey, habits, numbers, plan, plans, refusal};
use super::card::{self, Card, resting};
use super::gauge::gauge;
use super::reply::{Reply, fit};
use super::schedule::Size;
use super::table::{Command, Manner};
use super::written::{date, name};
use super::{pressing, remind, routine, schedule};
use crate::discord::dm::Shared;
use crate::discord::events::Given;
use crate::discord::message::{Outgoing, Row};

const HELP: &str = "\
say it in your own words: `call mum tomorrow at 5`, `move dentist to thu 11`, `done groceries`, `undo`.
`/now` the next thing · `/today` the day · `/schedule` a picture of it
`/remind` plans something and shows how it is read · `/reminders` · `/routines`
`/fork` a side conversation · reply to any message of mine to talk about it
`/pause` when it is too much · `/ping-budget` how often i may interrupt you
`/why` how something came about · `/undo` · `/config` · all of it: type `/`
-# any message anywhere: hold it, Apps, Remind me about this";

/// Runs `command` with the `given` options.
pub(super) async fn run(shared: &Shared, command: &Command, given: &[Given]) -> Reply {
    let value = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.value.as_str());
    let first = given.first().map_or("", |given| given.value.as_str());
    match command.name {
        "now" => shown(shared, &Card::Now).await,
        "today" => match day(first, &shared.ports.clock.now(), &habits(shared).await) {
            Ok(day) => shown(shared, &Card::Day(day)).await,
            Err(why) => Reply::glance(&why),
        },
        "remind" => remind::remind(shared, first).await,
        "reminders" => match plans(shared).await {
            Ok(plans) => Reply::Stays(card::reminders(&plans, first)),
            Err(why) => Reply::glance(&why),
        },
        "routines" => routines(shared, first).await,
        "schedule" => schedule::show(shared, Size::read(first)).await,
        "pause" => pause(shared, first).await,
        "resume" => told(plan(shared, Planning::Words("resume".to_owned())).await),
        "clear" => Reply::Stays(pressing::asks_to_clear()),
        "ping-budget" => pings(shared, value("capacity"), value("refill_rate")).await,
        "help" => Reply::glance(HELP),
        "status" => status(shared).await,
        _ => same(shared, command, given).await,
    }
}

async fn shown(shared: &Shared, card: &Card) -> Reply {
    match card.show(shared).await {
        Ok(card) => Reply::Stays(card),
        Err(why) => Reply::glance(&why),
    }
}

fn told(done: Result<String, String>) -> Reply {
    match done {
        Ok(text) => Reply::stays(&text),
        Err(why) => Reply::glance(&why),
    }
}

/// Parses a day. Empty text means today.
fn day(words: &str, now: &Zoned, habits: &Habits) -> Result<Date, String> {
    let today = now.date();
    if words.trim().is_empty() {
        return Ok(today);
    }
    let wrong = || format!("`{words}` is no day. say one, like `tomorrow`, `friday` or `24 dec`.");
    let Meant::List(span) = brain::read(words, now, habits) else { return Err(wrong()) };
    match span {
        Span::Today => Ok(today),
        Span::Tomorrow => Ok(today.tomorrow().unwrap_or(today)),
        Span::Day(day) => Ok(day),
        Span::Week | Span::Next | Span::Inbox | Span::Changes | Span::About(_) => Err(wrong()),
    }
}

async fn routines(shared: &Shared, name: &str) -> Reply {
    if name.trim().is_empty() {
        return shown(shared, &Card::Routines).await;
    }
    match plans(shared).await.and_then(|plans| routine::called(&plans, name)) {
        Ok(id) => shown(shared, &Card::Routine(id)).await,
        Err(why) => Reply::glance(&why),
    }
}

/// Pauses all routines, until a time if one is named.
async fn pause(shared: &Shared, until: &str) -> Reply {
    let until = until.trim();
    let words = match until {
        "" => "pause".to_owned(),
        until if until.starts_with("for ") || until.starts_with("until ") => format!("pause {until}"),
        until => format!("pause until {until}"),
    };
    let now = shared.ports.clock.now();
    let meant = brain::read(&words, &now, &habits(shared).await);
    if !matches!(meant, Meant::Change(Change::Pause(Until::Then(_) | Until::Told))) {
        return Reply::glance(&format!("`{until}` is no time. say one, like `tomorrow 9` or `for 2 hours`."));
    }
    let done = match plan(shared, Planning::Words(words)).await {
        Ok(told) => told,
        Err(why) => return Reply::glance(&why),
    };
    let rest = plans(shared).await.map_or(Rest::Never, |plans| plans.agenda.rest());
    let text = match resting(rest, now.timestamp()) {
        Some(rest) => format!("all that repeats {rest}. reminders still ring."),
        None => done,
    };
    let mut outgoing = Outgoing::words(text);
    outgoing.rows = vec![Row::Buttons(vec![pressing::go_on()])];
    Reply::Stays(outgoing)
}

/// SL-12: shows the ping budget, after changing its pace if options are given.
async fn pings(shared: &Shared, capacity: Option<&str>, refill: Option<&str>) -> Reply {
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let pace = Pace { capacity: number(capacity), refill_minutes: number(refill) };
    if pace != Pace::default() {
        let answer = ask(shared, Request::Choose(Choice::Pings(pace))).await;
        let Answer::Told(_) = answer else { return Reply::glance(&refusal(answer)) };
    }
    match numbers(shared).await {
        Ok(numbers) => {
            let text = gauge(&numbers.pings, shared.ports.clock.now().timestamp());
            if pace == Pace::default() { Reply::glance(&text) } else { Reply::stays(&text) }
        }
        Err(why) => Reply::glance(&why),
    }
}

/// Shows pending items, the next plan, and whether routines are paused.
async fn status(shared: &Shared) -> Reply {
    let answer = obey(shared, "/status").await;
    let Answer::Told(mut text) = answer else { return Reply::glance(&refusal(answer)) };
    if let Ok(plans) = plans(shared).await {
        let next = plans.agenda.soonest().next();
        let next = next.map(|(at, plan)| format!("\nnext: {} · {}", date(at), name(plan)));
        let rest = resting(plans.agenda.rest(), shared.ports.clock.now().timestamp());
        let rest = rest.map(|rest| format!("\nall that repeats {rest}."));
        text.extend(next.into_iter().chain(rest));
    }
    Reply::glance(&text)
}

/// Runs a command that is the same on all surfaces.
async fn same(shared: &Shared, command: &Command, given: &[Given]) -> Reply {
    let value = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.value.as_str());
    let words: Vec<&str> = command.options.iter().filter_map(|option| value(option.name)).collect();
    if command.name == "config" && value("key").is_none() && value("value").is_some() {
        return Reply::glance("which setting? choose a `key` too.");
    }
    let text = format!("/{} {}", command.name, words.join(" "));
    let private = match command.manner(given.len()) {
        Manner::Glance | Manner::LookUp | Manner::Quiet => Reply::Glance,
        Manner::List | Manner::Work => Reply::Stays,
    };
    match obey(shared, text.trim_end()).await {
        Answer::Told(text) => private(Outgoing::words(fit(&text))),
        Answer::Noted | Answer::Heard(_) => Reply::Nothing,
        Answer::Begun(_) => Reply::stays("i sum up what we said so far. what came of it follows."),
        other @ (Answer::Decided(_)
        | Answer::Results(_)
        | Answer::Plans(_)
        | Answer::Numbers(_)
        | Answer::Attention(_)
        | Answer::Overspent(_)
        | Answer::Shown(_)
        | Answer::Refused(_)) => Reply::glance(&refusal(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_named_in_plain_words() {
        let now: Zoned = "2026-11-16T10:00[Europe/Madrid]".parse().unwrap();
        let told = |words: &str| day(words, &now, &Habits::default()).map(|day| day.to_string());
        assert_eq!(told("").as_deref(), Ok("2026-11-16"));
        assert_eq!(told("tomorrow").as_deref(), Ok("2026-11-17"));
        assert_eq!(told("friday").as_deref(), Ok("2026-11-20"));
        assert_eq!(told("24 dec").as_deref(), Ok("2026-12-24"));
        assert!(told("soonish").unwrap_err().contains("`soonish` is no day"));
    }

    #[test]
    fn the_help_fits_into_one_message() {
        assert_eq!(fit(HELP), HELP);
    }
}
